package main

import (
	"runtime"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// limitProcessors has Go code run on one processor at a time. The controller waits for Octavia
// most of the time, and with more, each of the many moments at which it wakes up has further
// threads look for work that is not there: that is a tenth to a fifth of the CPU time of any
// change of a thousand Services (docs/sizing.md). Whoever sets GOMAXPROCS decides that alone.
func limitProcessors(env config.Environment) {
	if _, ok := env("GOMAXPROCS"); !ok {
		runtime.GOMAXPROCS(1)
	}
	klog.InfoS("Using processors", "atATime", runtime.GOMAXPROCS(0))
}
