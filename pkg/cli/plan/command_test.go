package plan

import (
	"context"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
)

func TestPlan_RefusesWrongFlags(t *testing.T) {
	t.Parallel()
	for says, arguments := range map[string][]string{
		"give either names of Services, --all or --filename": {"web", "--all"},
		"give either names":                                   {"-f", "web.yaml", "--all"},
		"--cluster-name is empty":                             {"--cluster-name="},
		"--timeout is 0s: it must be above zero":              {"--timeout=0"},
		`--output is "yaml": allowed are`:                     {"-o", "yaml"},
		"unknown flag: --yes":                                 {"--yes"},
		"unknown flag: --al":                                  {"--al"},
		`--for is "cpo": allowed is cloud-provider-openstack`: {"--for=cpo"},
		"--for covers all Services":                           {"--for=cloud-provider-openstack", "web"},
	} {
		command := newCommand(cli.Program{}, func(context.Context, *flags) error {
			t.Errorf("%q: it runs", arguments)
			return nil
		})
		command.SilenceUsage, command.SilenceErrors = true, true
		command.SetArgs(arguments)
		if err := command.Execute(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got error %v, want %q", arguments, err, says)
		}
	}
}

func TestPlan_TakesItsArguments(t *testing.T) {
	t.Parallel()
	var got *flags
	command := newCommand(cli.Program{}, func(_ context.Context, f *flags) error { got = f; return nil })
	command.SetArgs([]string{"-n", "shop", "web", "other/api", "--without-nodes=a,b", "--with-nodes=c=10.0.0.1"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got.query.Names, " ") != "web other/api" || !got.kubernetes.NamespaceGiven() || len(got.nodes.Without) != 2 || len(got.nodes.With) != 1 {
		t.Errorf("%+v", got)
	}
}

// A user without rights gets an error at once, in one line.
func TestPlan_NeedsToReadWhatIdentifiesTheCluster(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}})
	if err := mayPlan(t.Context(), client); err != nil {
		t.Error(err)
	}
	client.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(v1.Resource("namespaces"), metav1.NamespaceSystem, errors.New("no role"))
	})
	if err := mayPlan(t.Context(), client); err == nil || !strings.Contains(err.Error(), "this user may not read namespace kube-system") || !strings.Contains(err.Error(), "docs/commands.md") {
		t.Error(err)
	}
	if reads := len(client.Actions()); reads != 2 {
		t.Errorf("%d reads, want 2", reads)
	}
}
