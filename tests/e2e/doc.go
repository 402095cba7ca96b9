// Package e2e is one suite for every cloud: the simulator, in every run of the
// tests, and a real OpenStack in `make e2e`, be it ours or another one. Each
// scenario works through the API of a real Kubernetes control plane and the real
// cloud controller manager, and judges by what the cloud then holds and, where the
// cloud carries traffic, by what clients get to see.
package e2e
