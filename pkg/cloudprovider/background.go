package cloudprovider

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	"github.com/openstack-ccm/openstack-ccm/pkg/resync"
)

// start starts the work on load balancers without calls: the controller that resyncs them, the collector of garbage,
// and what writes their conditions and records. It ends with the process; background counts it.
func (l *loadBalancers) start(options Options, factory informers.SharedInformerFactory, background *sync.WaitGroup) {
	process := l.calls.process
	controller, err := resync.New(resync.Options{
		Engine:    resyncEngine{l},
		Informers: factory,
		Client:    options.Client.CoreV1(),
		Slices:    options.Client,
		Gates:     options.PodGates,
		Forbidden: options.Metrics.endpointsForbidden,
		Recorder:  options.Recorder,
		Clock:     options.Clock,
	})
	if err != nil {
		options.Stop(err)
		return
	}
	l.resync.Store(controller)
	// The last records are written after the controller has recorded its final state.
	recording, recorded := context.WithCancel(context.WithoutCancel(process))
	background.Go(func() {
		defer recorded()
		controller.Run(process)
	})
	engine := l.engine
	background.Go(func() { engine.CollectGarbage(process, garbageCluster(options, l.scope)) })
	background.Go(func() { engine.WatchQuotas(process) })
	if options.Conditions != nil {
		background.Go(func() { options.Conditions.Run(process) })
	}
	if dry, is := engine.(*previews); is {
		services := factory.Core().V1().Services().Lister()
		background.Go(func() { dry.again(process, services, options.PreviewInterval, options.Clock) })
	} else if options.Records != nil {
		background.Go(func() {
			options.Records.Run(recording, func() map[types.UID]bool {
				live := controller.Live()
				engine.DropAllBut(live)
				return live
			})
		})
	}
}
