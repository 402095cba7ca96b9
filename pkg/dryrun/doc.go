// Package dryrun prevents a controller that runs next to another one from writing to Kubernetes,
// and reports the changes that it would make.
//
// A dry run is the normal controller with its writers replaced. Package cloudprovider wraps the engine,
// instances and routes in decorators, which report a change instead of making it; the engine is used for
// Preview. Below them are two guards that no code bypasses: transport.readOnly for every request to
// OpenStack, and Kubernetes for every request to the API server. Kubernetes answers writes as if they had
// succeeded, because the controllers of Kubernetes would retry otherwise.
package dryrun
