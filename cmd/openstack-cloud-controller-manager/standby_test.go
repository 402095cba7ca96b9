package main

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// A process that waits for the lease is alive and ready.
func TestProgram_IsReadyAsStandby(t *testing.T) {
	t.Parallel()
	cloud, err := simulator.Start(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	p := startProgram(t, nil, append(standbyFlags(t), "--cloud-config="+file(t, "cloud.conf", cloud.CloudConf()))...)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/livez": 404} {
		p.answers(t, path, want)
	}
}
