package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// completionTimeout is how long a shell waits for the names of namespaces.
const completionTimeout = 3 * time.Second

// Kubernetes has the flags of kubectl for the cluster, the user and the namespace, with its
// defaults. In a pod without a kubeconfig they are the pod's cluster and service account.
type Kubernetes struct {
	// All is --all-namespaces.
	All bool

	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	userAgent string
}

// AddTo adds the flags to a command of a program, with completion for their values.
func (f *Kubernetes) AddTo(command *cobra.Command, p Program) {
	f.userAgent = p.UserAgent
	f.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	flags := command.Flags()
	flags.StringVar(&f.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "Path of the kubeconfig; by default, $KUBECONFIG or ~/.kube/config.")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.CurrentContext.Description = "The context of the kubeconfig to use."
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.ContextOverrideFlags.Namespace.Description = "The namespace; by default, that of the context."
	given := pflag.NewFlagSet("", pflag.ContinueOnError)
	clientcmd.BindOverrideFlags(&f.overrides, given, names)
	given.VisitAll(func(flag *pflag.Flag) {
		flag.Usage = sentence(flag.Usage)
		flags.AddFlag(flag)
	})
	flags.BoolVarP(&f.All, "all-namespaces", "A", false, "All namespaces, instead of --namespace.")
	for flag, complete := range map[string]func() []string{
		clientcmd.FlagContext:      func() []string { return slices.Sorted(maps.Keys(f.known().Contexts)) },
		clientcmd.FlagClusterName:  func() []string { return slices.Sorted(maps.Keys(f.known().Clusters)) },
		clientcmd.FlagAuthInfoName: func() []string { return slices.Sorted(maps.Keys(f.known().AuthInfos)) },
		clientcmd.FlagNamespace:    f.namespaces,
	} {
		// It fails for a flag that does not exist.
		_ = command.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return startingWith(complete(), begun), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

func (f *Kubernetes) config() (*rest.Config, error) {
	found, err := f.client().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("find the cluster: there is no kubeconfig: set --kubeconfig or $KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	return found, nil
}

// Namespace returns the requested namespace, "" for all of them.
func (f *Kubernetes) Namespace() (string, error) {
	if f.All {
		return metav1.NamespaceAll, nil
	}
	name, _, err := f.client().Namespace()
	if err != nil {
		return "", fmt.Errorf("find the namespace: %w", err)
	}
	return name, nil
}

// NamespaceGiven reports whether --namespace is given.
func (f *Kubernetes) NamespaceGiven() bool { return f.overrides.Context.Namespace != "" }

func (f *Kubernetes) client() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &f.overrides)
}

// known returns the kubeconfig, an empty one if there is none.
func (f *Kubernetes) known() *clientcmdapi.Config {
	found, err := f.client().RawConfig()
	if err != nil {
		return clientcmdapi.NewConfig()
	}
	return &found
}

// ReadOnlyClient returns a client that only sends reads to the API server, even if its user may
// write.
func (f *Kubernetes) ReadOnlyClient() (kubernetes.Interface, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	return readOnlyClient(config, f.userAgent)
}

// namespaces returns the names of all namespaces; none if the API server does not return them
// within completionTimeout.
func (f *Kubernetes) namespaces() []string {
	client, err := f.ReadOnlyClient()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	found, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var names []string
	for i := range found.Items {
		names = append(names, found.Items[i].Name)
	}
	return names
}

// verbQPS and verbBurst bound the requests of a verb to the API server: it sends few.
const verbQPS, verbBurst = 50, 100

func readOnlyClient(config *rest.Config, userAgent string) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS, config.Burst = userAgent, verbQPS, verbBurst
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readsOnly{next} })
	return kubernetes.NewForConfig(config)
}

// readsOnly passes on only reads.
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

func startingWith(words []string, begun string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, begun) })
}

// sentence returns the usage of a flag of client-go in the style of ours.
func sentence(usage string) string {
	if usage == "" || strings.HasSuffix(usage, ".") {
		return usage
	}
	return strings.ToUpper(usage[:1]) + usage[1:] + "."
}
