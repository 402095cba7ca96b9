// Package dryrun prevents a controller that runs next to another one from writing to Kubernetes,
// and reports the changes that it would make.
//
// A dry run is the controller with other leaves. Package cloudprovider replaces the engine, instances and
// routes by decorators, which report and return; the engine is used for Preview. Below them are two guards
// that no code bypasses: transport.readOnly for every request to OpenStack, and Kubernetes for every
// request to the API server, which answers writes as if they had succeeded, because the controllers of
// Kubernetes would retry otherwise.
package dryrun
