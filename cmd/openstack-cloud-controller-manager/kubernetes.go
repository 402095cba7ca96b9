package main

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// verbQPS and verbBurst bound the requests of a verb to the API server: it sends few.
const verbQPS, verbBurst = 50, 100

// kubeFlags say which cluster a verb is about. They are those of kubectl.
type kubeFlags struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

func (c *kubeFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "Path of the kubeconfig; without it, what KUBECONFIG names, ~/.kube/config, or the service account of the pod.")
	flags.StringVar(&c.overrides.CurrentContext, "context", "", "Context of the kubeconfig.")
	flags.StringVarP(&c.overrides.Context.Namespace, "namespace", "n", "", "Namespace; without it, that of the context.")
}

// load returns how to reach the API server, and the namespace.
func (c *kubeFlags) load() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	namespace, _, err := loaded.Namespace()
	return config, namespace, err
}

// newKubernetesClient returns the client of a verb.
func newKubernetesClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS, config.Burst = userAgent(thisBuild().version, nil), verbQPS, verbBurst
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	return kubernetes.NewForConfig(config)
}
