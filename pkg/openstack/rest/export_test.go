package rest

// MaxRestarts is how often a list begins anew.
const MaxRestarts = maxRestarts

// MaxObjects is how many objects a list has at most.
const MaxObjects = maxObjects
