package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kubernetesFlags say which cluster a verb looks at.
type kubernetesFlags struct{ kubeconfig string }

func (f *kubernetesFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "Path of the kubeconfig; without it, that of $KUBECONFIG or of the home directory, or the service account of the pod.")
}

// config returns how the API server is reached.
func (f *kubernetesFlags) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return config, nil
}

// readOnlyClient returns a client that sends the API server nothing that could write, whatever
// the role of its user permits.
func readOnlyClient(config *rest.Config, userAgent string) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS, config.Burst = userAgent, defaultQPS, defaultBurst
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readsOnly{next} })
	return kubernetes.NewForConfig(config)
}

// readsOnly passes on what reads.
type readsOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readsOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return t.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, fmt.Errorf("%s %s was not sent: nothing is written to Kubernetes here", req.Method, req.URL.Path)
}
