package main

import (
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// limitMemory sets the memory limit of the Go runtime from the limit of the container, unless
// GOMEMLIMIT is set.
func limitMemory(env config.Environment) {
	if given, ok := env("GOMEMLIMIT"); ok {
		klog.InfoS("Keeping within GOMEMLIMIT", "limit", given)
		return
	}
	limit, file, err := memoryLimit(os.DirFS("/"))
	switch {
	case err != nil:
		klog.InfoS("Not keeping within the memory of the container: it is not known", "err", err)
	case limit == 0:
		klog.V(2).InfoS("Nothing limits the memory of this process")
	default:
		debug.SetMemoryLimit(limit)
		klog.InfoS("Keeping within the memory of the container", "limitBytes", limit, "file", file)
	}
}
