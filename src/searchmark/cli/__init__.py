"""The command line: one short module per verb, loaded when it is called."""
