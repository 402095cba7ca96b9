package testenv

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// SignIn returns a session of a command that an operator runs. Read-only ones refuse writes. The caller
// closes it.
func (env *Env) SignIn(ctx context.Context, readOnly bool) (*openstack.Session, error) {
	return openstack.NewSession(ctx, env.Conf.Global, openstack.SessionOptions{Dial: env.network.Host().Dial, ReadOnly: readOnly})
}

// Client returns a client of an API server with copies of the present objects.
func (env *Env) Client() *fake.Clientset {
	objects := []runtime.Object{
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(env.options.ClusterUID)}},
		&v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes"},
			Spec:       v1.ServiceSpec{Type: v1.ServiceTypeClusterIP, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}},
		},
	}
	for _, svc := range env.Cluster.Services() {
		objects = append(objects, svc)
	}
	for _, node := range env.Cluster.Nodes() {
		objects = append(objects, node)
	}
	return fake.NewClientset(objects...)
}

// Rehearse returns an engine for previews, without the state of the running process. The caller ends it.
func (env *Env) Rehearse(ctx context.Context) (engine *loadbalancer.Reconciler, end func(), err error) {
	session, err := env.SignIn(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	options := env.engineOptions(env.Conf, session)
	options.Records, options.Recorder = recordsToRead{env.records}, &record.FakeRecorder{}
	engine, err = loadbalancer.New(options)
	if err != nil {
		session.Close()
		return nil, nil, err
	}
	return engine, func() { engine.Close(); session.Close() }, nil
}

// recordsToRead are the records of Services as a command reads them.
type recordsToRead struct{ *records }

// Get implements goal.Records.
func (r recordsToRead) Get(service types.UID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts[service]
}

// Set implements goal.Records. A command writes none.
func (recordsToRead) Set(types.UID, string) {}
