# The commands of the README. `make help` lists them.
.DEFAULT_GOAL := help
