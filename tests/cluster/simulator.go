package cluster

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control/client"
)

// Simulator has the options of openstack-sim as a separate process.
type Simulator struct {
	// Program is its path, Directory where its log and cloud.conf are written.
	Program, Directory string
	// Args are flags beside those for the address and cloud.conf.
	Args []string
}

// CloudProcess is an openstack-sim that runs.
type CloudProcess struct {
	*process.Process
	// Cloud is its control API.
	Cloud client.Cloud
	// CloudConf is the path of the cloud.conf that it has written.
	CloudConf string
}

// listening finds the address in the line that openstack-sim prints when it is ready.
var listening = regexp.MustCompile(`listening on (http://\S+)`)

// simulatorGrace is how long it may take to end.
const simulatorGrace = 15 * time.Second

// simulatorLogLines is where the address is looked for.
const simulatorLogLines = 40

// Start starts the process and returns when the cloud answers.
func (s Simulator) Start(ctx context.Context) (*CloudProcess, error) {
	c := &CloudProcess{CloudConf: filepath.Join(s.Directory, "cloud.conf")}
	p, err := process.Start(process.Spec{
		Name: "openstack-sim", Path: s.Program, LogFile: filepath.Join(s.Directory, "openstack-sim.log"),
		Args: append([]string{"--listen=127.0.0.1:0", "--cloud-conf=" + c.CloudConf}, s.Args...),
	})
	if err != nil {
		return nil, err
	}
	c.Process = p
	err = p.Await(ctx, func(context.Context) error {
		found := listening.FindStringSubmatch(p.Log(simulatorLogLines))
		if found == nil {
			return errors.New("it has not said its address")
		}
		c.Cloud.URL = found[1]
		return nil
	})
	if err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

// End ends the process in good order.
func (c *CloudProcess) End() { c.Process.Stop(simulatorGrace) }
