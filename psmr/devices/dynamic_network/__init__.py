"""Elements of the network with their own dynamics, in the frame that turns at nominal frequency."""
