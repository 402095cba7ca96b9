// Command load runs the real cloud controller manager against a real API server and a simulated
// OpenStack with many Services, ports and nodes, through the phases of a cluster's life. It reports
// the cost of each phase: time next to the cloud's own limit, CPU, memory, requests, writes, bytes,
// and writes to Kubernetes. Run it with `make load`.
//
// The simulator, the control plane and the controller are separate processes, so that the figures
// of the controller are its own. All of them listen only on loopback, and end with this program,
// however that ends. Nodes are Node objects without kubelets.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	options, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, options, newScreen(os.Stdout, isTerminal(os.Stdout)))
	}
	stop()
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "load: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	sizes  []size
	phases []phase
	// repeat is the number of repetitions of the phases.
	repeat   int
	settings settings
	// settle is the time without changes that ends a phase, sample the pause between two samples.
	settle, sample time.Duration
	// profile has the names of the phases with profiles.
	profile []string
	// directory is the directory of all output.
	directory string
}

// settings are settings of the processes.
type settings struct {
	// controller is the path of the controller's program; empty means that of this checkout.
	controller string
	// speed is the speed of the simulated cloud, as a multiple of that of real ones.
	speed float64
	// boot is the time that a new amphora takes.
	boot time.Duration
	// replace is the number of nodes that are replaced one by one; 0 means a tenth of them.
	replace int
	// idle is the length of the phase idle.
	idle time.Duration
	// conf has additional lines for the section [LoadBalancer] of cloud.conf.
	conf []string
	// env and args are for the controller's process.
	env, args []string
}

func parse(args []string) (options, error) {
	var o options
	var sizes, phases []string
	var processors, memoryLimit string
	flags := pflag.NewFlagSet("load", pflag.ContinueOnError)
	flags.StringArrayVar(&sizes, "size", standardSizes(), "SERVICESxPORTSxNODES, with /N for max-members=N and @N for a --speed of its own; may be repeated")
	flags.StringSliceVar(&phases, "phases", phaseNames(), "the phases to go through, in this order")
	flags.IntVar(&o.repeat, "repeat", 1, "how often to go through the phases, to see what grows")
	flags.StringVar(&o.settings.controller, "controller", "", "another program to measure, such as cloud-provider-openstack's; empty means that of this checkout")
	flags.DurationVar(&o.settings.boot, "boot", cost.Amphora().Create, "how long a new amphora takes")
	flags.Float64Var(&o.settings.speed, "speed", 1, "factor by which the simulated cloud is faster than a real one")
	flags.IntVar(&o.settings.replace, "replace", 0, "how many nodes "+phaseReplace+" replaces; 0 is a tenth")
	flags.StringArrayVar(&o.settings.conf, "conf", nil, "a line for [LoadBalancer] of cloud.conf, such as drift-interval=30s; may be repeated")
	flags.StringArrayVar(&o.settings.args, "flag", nil, "a flag for the controller, such as --v=4; may be repeated")
	flags.StringVar(&processors, "gomaxprocs", "1", "GOMAXPROCS of the controller; 1 is that of the manifests")
	flags.StringVar(&memoryLimit, "gomemlimit", "", "GOMEMLIMIT of the controller, such as 256MiB")
	flags.DurationVar(&o.settings.idle, "idle", 330*time.Second, "length of the phase "+phaseIdle)
	flags.DurationVar(&o.settle, "settle", 12*time.Second, "how long nothing may happen before a phase is over: longer than it takes the controller to return memory")
	flags.DurationVar(&o.sample, "sample", time.Second, "pause between two samples for the picture")
	flags.StringSliceVar(&o.profile, "profile", nil, "phases whose CPU and heap profiles to take")
	flags.StringVar(&o.directory, "out", "out", "where to write load.json, pictures, samples and profiles")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	for name, value := range map[string]string{"GOMAXPROCS": processors, "GOMEMLIMIT": memoryLimit} {
		if value != "" {
			o.settings.env = append(o.settings.env, name+"="+value)
		}
	}
	return o, o.choose(sizes, phases)
}

// choose selects the sizes and phases, and validates the rest.
func (o *options) choose(sizes, phases []string) error {
	var errs []error
	for _, text := range sizes {
		s, err := parseSize(text)
		o.sizes, errs = append(o.sizes, s), append(errs, err)
	}
	for _, name := range phases {
		p, err := phaseNamed(name)
		o.phases, errs = append(o.phases, p), append(errs, err)
	}
	for _, name := range o.profile {
		_, err := phaseNamed(name)
		errs = append(errs, err)
	}
	if o.repeat < 1 {
		errs = append(errs, fmt.Errorf("--repeat %d: want 1 or more", o.repeat))
	}
	if !(o.settings.speed > 0) {
		errs = append(errs, fmt.Errorf("--speed %v: want more than 0", o.settings.speed))
	}
	for _, line := range o.settings.conf {
		if !strings.Contains(line, "=") {
			errs = append(errs, fmt.Errorf("--conf %q: want KEY=VALUE", line))
		}
	}
	return errors.Join(errs...)
}
