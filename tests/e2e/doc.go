// Package e2e is one suite for every cloud: the simulator, in every run of the tests, and a real
// OpenStack in `make e2e`, either the project's own or another one. Each scenario uses the API of a
// real Kubernetes control plane and the real cloud controller manager. It checks the resulting
// objects in the cloud and, if the cloud carries traffic, the answers to clients.
package e2e
