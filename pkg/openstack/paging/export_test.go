package paging

// MaxRestarts is how often a list begins anew.
const MaxRestarts = maxRestarts
