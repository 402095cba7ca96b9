package dryrun

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// server is an API server with a node. It records the requests.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.sent = append(s.sent, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/k8s/clusters/c-1"))
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/nodes/node-1"):
			answer = &v1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "node-1", ResourceVersion: "7"}}
		case strings.Contains(path, "/leases"):
			answer = &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}}
		case strings.HasSuffix(path, "/tokenreviews"):
			answer = &authenticationv1.TokenReview{TypeMeta: metav1.TypeMeta{Kind: "TokenReview", APIVersion: "authentication.k8s.io/v1"}}
		case strings.HasSuffix(path, "/subjectaccessreviews"):
			answer = &authorizationv1.SubjectAccessReview{TypeMeta: metav1.TypeMeta{Kind: "SubjectAccessReview", APIVersion: "authorization.k8s.io/v1"}}
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = apierrors.NewNotFound(v1.Resource("things"), "x").Status()
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

func leaseNamed(name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"}}
}

// attempt is an action of a controller, with the requests that reach the API server.
type attempt struct {
	name string
	do   func(context.Context, kubernetes.Interface) error
	// sent are its requests.
	sent []string
	// fails is set if the caller gets an error.
	fails bool
	// write is the withheld write.
	write Write
}

// ours are the writes that are sent.
func ours() []attempt {
	const leases = " /apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	return []attempt{
		{name: "the lease is created", sent: []string{"POST" + leases}, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoordinationV1().Leases("kube-system").Create(ctx, leaseNamed("ours"), metav1.CreateOptions{})
			return err
		}},
		{name: "the lease is renewed", sent: []string{"PUT" + leases + "/ours"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoordinationV1().Leases("kube-system").Update(ctx, leaseNamed("ours"), metav1.UpdateOptions{})
			return err
		}},
		{name: "a token is reviewed", sent: []string{"POST /apis/authentication.k8s.io/v1/tokenreviews"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{}, metav1.CreateOptions{})
			return err
		}},
		{name: "a request is reviewed", sent: []string{"POST /apis/authorization.k8s.io/v1/subjectaccessreviews"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{}, metav1.CreateOptions{})
			return err
		}},
		{name: "a node is read", sent: []string{"GET /api/v1/nodes/node-1"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
			return err
		}},
	}
}

// foreign are the writes that are withheld.
func foreign() []attempt {
	return []attempt{
		{name: "another lease is created", write: Write{Verb: "create", Resource: "leases", Namespace: "kube-system", Name: "other"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoordinationV1().Leases("kube-system").Create(ctx, leaseNamed("other"), metav1.CreateOptions{})
			return err
		}},
		{name: "a lease of that name is created elsewhere", write: Write{Verb: "create", Resource: "leases", Namespace: "default", Name: "ours"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			lease := leaseNamed("ours")
			lease.Namespace = "default"
			_, err := c.CoordinationV1().Leases("default").Create(ctx, lease, metav1.CreateOptions{})
			return err
		}},
		{name: "another lease is taken", write: Write{Verb: "update", Resource: "leases", Namespace: "kube-system", Name: "cloud-controller-manager"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoordinationV1().Leases("kube-system").Update(ctx, leaseNamed("cloud-controller-manager"), metav1.UpdateOptions{})
			return err
		}},
		{name: "the lease is deleted", write: Write{Verb: "delete", Resource: "leases", Namespace: "kube-system", Name: "ours"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoordinationV1().Leases("kube-system").Delete(ctx, "ours", metav1.DeleteOptions{})
		}},
		{name: "an event is emitted", write: Write{Verb: "create", Resource: "events", Namespace: "default", Name: "web.1"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Events("default").Create(ctx, &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: "web.1", Namespace: "default"}}, metav1.CreateOptions{})
			return err
		}},
		{name: "an event is repeated", write: Write{Verb: "patch", Resource: "events", Namespace: "default", Name: "web.1", Patch: "{}"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			event, err := c.CoreV1().Events("default").Patch(ctx, "web.1", types.StrategicMergePatchType, []byte("{}"), metav1.PatchOptions{})
			if err == nil && event.Name != "web.1" {
				err = fmt.Errorf("the answer is another event: %v", event)
			}
			return err
		}},
		{name: "a node is updated", write: Write{Verb: "update", Resource: "nodes", Name: "node-1"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			node, err := c.CoreV1().Nodes().Update(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: v1.NodeSpec{ProviderID: "x"}}, metav1.UpdateOptions{})
			if err == nil && node.Spec.ProviderID != "x" {
				err = fmt.Errorf("the answer is not what was sent: %v", node)
			}
			return err
		}},
		{name: "a node's status is patched", write: Write{Verb: "patch", Resource: "nodes/status", Name: "node-1", Patch: "{}"},
			sent: []string{"GET /api/v1/nodes/node-1"}, do: func(ctx context.Context, c kubernetes.Interface) error {
				node, err := c.CoreV1().Nodes().Patch(ctx, "node-1", types.StrategicMergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
				if err == nil && node.ResourceVersion != "7" {
					err = fmt.Errorf("the answer is not the node as it is: %v", node)
				}
				return err
			}},
		{name: "what is gone is patched", fails: true, write: Write{Verb: "patch", Resource: "services", Namespace: "default", Name: "gone", Patch: "{}"},
			sent: []string{"GET /api/v1/namespaces/default/services/gone"}, do: func(ctx context.Context, c kubernetes.Interface) error {
				_, err := c.CoreV1().Services("default").Patch(ctx, "gone", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
				return err
			}},
		{name: "a node is deleted", write: Write{Verb: "delete", Resource: "nodes", Name: "node-1"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoreV1().Nodes().Delete(ctx, "node-1", metav1.DeleteOptions{})
		}},
		{name: "all nodes are deleted", write: Write{Verb: "deletecollection", Resource: "nodes"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}},
		{name: "a pod is evicted", fails: true, write: Write{Verb: "create", Resource: "pods/eviction", Namespace: "default", Name: "web"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			return c.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}})
		}},
		{name: "something else is posted", fails: true, write: Write{Verb: "post", Resource: "other"}, do: func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoreV1().RESTClient().Post().AbsPath("/logs").Do(ctx).Error()
		}},
	}
}

//proves:90,123
func TestKubernetes_SendsNoWriteBesideItsLease(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, path := range []string{"", "/k8s/clusters/c-1"} {
			t.Run(contentType+path, func(t *testing.T) {
				t.Parallel()
				api := newServer(t)
				var withheld []Write
				guard := &Kubernetes{
					Lease:    types.NamespacedName{Namespace: "kube-system", Name: "ours"},
					Withheld: func(w Write) { withheld = append(withheld, w) },
				}
				config := &rest.Config{Host: api.URL + path, ContentConfig: rest.ContentConfig{ContentType: contentType}}
				config.Wrap(guard.Wrap)
				client, err := kubernetes.NewForConfig(config)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range slices.Concat(ours(), foreign()) {
					withheld = nil
					if err := a.do(t.Context(), client); (err != nil) != a.fails {
						t.Errorf("%s: %v", a.name, err)
					}
					var want []Write
					if a.write != (Write{}) {
						want = []Write{a.write}
					}
					if diff := cmp.Diff(a.sent, api.take()); diff != "" {
						t.Errorf("%s: sent (-want +got):\n%s", a.name, diff)
					}
					if diff := cmp.Diff(want, withheld); diff != "" {
						t.Errorf("%s: withheld (-want +got):\n%s", a.name, diff)
					}
				}
			})
		}
	}
}
