"""Two catalogs beside the sample: the testbeds of Tool Attention and of NetMCP, rebuilt with texts of our own.

`python -m sample_catalog.authoring.build` writes their files from `sheets/*.toml`; `NAME.tasks.jsonl` are their
labelled tasks.
"""

from pathlib import Path

from sample_catalog import SERVERS_DIR

ROOT = Path(__file__).resolve().parent
ATTENTION_DIR = ROOT / "attention-120"
SEARCH_DIR = ROOT / "search-15"
ATTENTION_TASKS = ROOT / "attention-120.tasks.jsonl"
SEARCH_TASKS = ROOT / "search-15.tasks.jsonl"

# servers of the sample without web search, from ten categories
UNRELATED = (
    "git-forge", "shop-finder", "calendar-desk", "pdf-tools", "photo-lab",
    "postgres-desk", "invoice-press", "team-chat", "container-dock", "sheet-grid",
)  # fmt: skip

# a curator's choice of the 120 tools for everyday work: the baseline of static pruning
CURATED = (
    "github::get_file_contents", "github::search_code", "github::list_issues", "github::create_issue",
    "github::add_issue_comment", "github::list_pull_requests", "github::create_pull_request",
    "filesystem::read_file", "filesystem::write_file", "filesystem::edit_file", "filesystem::list_directory",
    "filesystem::search_in_files",
    "database::list_tables", "database::describe_table", "database::run_query", "database::insert_rows",
    "slack::slack_post_message", "slack::slack_send_direct_message", "slack::slack_search_messages",
    "slack::slack_get_channel_history", "slack::slack_get_thread",
    "web::web_search", "web::news_search", "web::fetch_page",
    "jira::jira_search_issues", "jira::jira_get_issue", "jira::jira_create_issue", "jira::jira_assign_issue",
    "jira::jira_transition_issue", "jira::jira_add_comment",
)  # fmt: skip


def attention_files() -> list[Path]:
    """Returns the files of the six servers of `attention-120`."""
    return sorted(ATTENTION_DIR.glob("*.json"))


def search_files() -> list[Path]:
    """Returns the files of the fifteen servers of `search-15`: five that search the web, and ten of the sample that do
    not."""
    return sorted(SEARCH_DIR.glob("*.json")) + [SERVERS_DIR / f"{name}.json" for name in UNRELATED]
