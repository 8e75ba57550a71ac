// Winner strips: the track of a knob is coloured by who wins at which value. They come by the fast lane, after the decision.

const strips = {
  // The needle of a knob without a slider; a slider's thumb is its own needle.
  point() {},
  refresh() {},
};
