package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath/attach"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// serve runs the simulator until the context ends. It prints one line to out when the API
// is ready, and what goes wrong later to problems.
func serve(ctx context.Context, chosen settings, out, problems io.Writer) error {
	options, err := chosen.cloud()
	if err != nil {
		return err
	}
	options.Report = reporter(problems)
	cloud, err := simulator.Start(options)
	if err != nil {
		return fmt.Errorf("start the simulated cloud: %w", err)
	}
	defer cloud.Close()
	if err := addServers(cloud, chosen.servers); err != nil {
		return err
	}
	cloud.Handle(control.Prefix, control.For(cloud))
	if chosen.dataPath {
		plane := attach.Start(cloud.Octavia, cloud.Neutron, datapath.Options{
			TimeScale:    1 / chosen.monitorSpeed,
			Certificates: attach.SecretsOf(cloud.Barbican),
			Report:       options.Report,
		})
		defer plane.Close()
		cloud.CountTraffic(func(listenerID string) octavia.Statistics {
			counted := plane.Statistics(listenerID)
			return octavia.Statistics{
				BytesIn: counted.BytesIn, BytesOut: counted.BytesOut,
				ActiveConnections: counted.ActiveConnections, TotalConnections: counted.TotalConnections,
			}
		})
	}
	if err := writeFiles(cloud, chosen); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "openstack-sim: listening on %s\n", cloud.URL()); err != nil {
		return fmt.Errorf("say that the API is ready: %w", err)
	}
	<-ctx.Done()
	return nil
}

// cloud translates the flags.
func (s *settings) cloud() (simulator.Options, error) {
	latencies, err := parseLatencies(s.latencies)
	options := simulator.Options{
		Addr:      s.listen,
		Release:   s.release,
		Profile:   s.profile,
		Seed:      s.seed,
		Speed:     s.speed,
		Latencies: latencies,

		VIPPortDelay: s.vipPortDelay,
		Quirks:       octavia.Quirks{SecondResolution: s.wholeSeconds},

		Topology: simulator.Topology{ExternalCIDR: s.externalCIDR, CIDR: s.subnetCIDR, RouterVIPCIDR: s.routerVIPCIDR},
		Config:   simulator.Config{LoadBalancer: map[string]string{"lb-provider": s.provider}},
	}
	if s.profile == "" {
		options.Delays = map[string]octavia.Delays{
			"": {Create: s.createDelay, Update: s.updateDelay, Delete: s.deleteDelay},
		}
	}
	return options, err
}

func addServers(cloud *simulator.Cloud, count int) error {
	for i := range count {
		if _, err := cloud.AddServer(fmt.Sprintf("node-%d", i+1), ""); err != nil {
			return err
		}
	}
	return nil
}

// writeFiles writes the files that lead clients to the cloud.
func writeFiles(cloud *simulator.Cloud, chosen settings) error {
	yaml, err := cloudsYAML(cloud)
	if err != nil {
		return err
	}
	return errors.Join(
		writeSecret(chosen.cloudConf, []byte(cloud.CloudConf())),
		writeSecret(chosen.cloudsYAML, yaml),
	)
}

// writeSecret replaces the file at once, so that no reader gets half of it. An empty path
// means that the file is not wanted.
func writeSecret(path string, text []byte) error {
	if path == "" {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

// reporter prints the data path's problems, a line each.
func reporter(to io.Writer) func(error) {
	var mu sync.Mutex
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(to, "openstack-sim: %v\n", err) // there is no other output
	}
}
