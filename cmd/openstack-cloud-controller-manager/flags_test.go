package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// cloud-provider-openstack's image has no entrypoint: in its manifests and its chart
// the args begin with the path of the program, in other places the command does.
func TestOwnArguments_OmitsThePathOfTheProgram(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ given, want []string }{
		{[]string{"/bin/openstack-cloud-controller-manager", "--v=1"}, []string{"--v=1"}},
		{[]string{"openstack-cloud-controller-manager"}, []string{}},
		{[]string{"--v=1"}, []string{"--v=1"}},
		{[]string{"--v=1", "/bin/openstack-cloud-controller-manager"}, []string{"--v=1", "/bin/openstack-cloud-controller-manager"}},
		{[]string{"/bin/cinder-csi-plugin"}, []string{"/bin/cinder-csi-plugin"}},
		{nil, nil},
	} {
		if got := ownArguments(test.given); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.given, got, test.want)
		}
	}
}

func TestSetFromEnvironment_OnlyWithoutFlags(t *testing.T) {
	t.Parallel()
	both := map[string]string{"CLOUD_CONFIG": "/etc/config/cloud.conf", "CLUSTER_NAME": "prod"}
	for name, test := range map[string]struct {
		env                   map[string]string
		args                  []string
		cloudConfig, clusters string
	}{
		"neither flag":              {both, nil, "/etc/config/cloud.conf", "prod"},
		"neither flag, nothing":     {map[string]string{"CLOUD_CONFIG": ""}, nil, "", "kubernetes"},
		"a name only":               {map[string]string{"CLUSTER_NAME": "prod"}, nil, "", "prod"},
		"both flags":                {both, []string{"--cloud-config=a", "--cluster-name=b"}, "a", "b"},
		"the name stays the flag's": {both, []string{"--cloud-config=a"}, "a", "kubernetes"},
		"cloud.conf stays unset":    {both, []string{"--cluster-name=b"}, "", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			command, p, _ := command(t)
			p.env = func(key string) (string, bool) { value, ok := test.env[key]; return value, ok }
			if err := command.ParseFlags(test.args); err != nil {
				t.Fatal(err)
			}
			if err := setFromEnvironment(command.Flags(), p.env); err != nil {
				t.Fatal(err)
			}
			got := []string{command.Flags().Lookup("cloud-config").Value.String(), command.Flags().Lookup("cluster-name").Value.String()}
			if diff := cmp.Diff([]string{test.cloudConfig, test.clusters}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLenientGates_IgnoresGatesOfOtherComponents(t *testing.T) {
	t.Parallel()
	flags, own := pflag.NewFlagSet("", pflag.ContinueOnError), utilfeature.DefaultMutableFeatureGate.DeepCopy()
	own.AddFlag(flags)
	gates := tolerateUnknownGates(flags, own)
	if err := gates.Set("InPlacePodVerticalScaling=true,CloudControllerManagerWebhook=true, Ghost=false"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(gates.unknown, " "); got != "InPlacePodVerticalScaling Ghost" {
		t.Errorf("left out: %q", got)
	}
	if !own.Enabled("CloudControllerManagerWebhook") {
		t.Error("the gate that is known is not set")
	}
	if err := gates.Set("CloudControllerManagerWebhook=maybe"); err == nil {
		t.Error("a value that is no boolean is taken")
	}
}

// The chart refuses flags that do not exist, by a list that is made without this package.
func TestFlags_AreThoseOfChartsSchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "manifests", "chart", "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Args struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	command, _, _ := command(t)
	var flags []string
	command.Flags().VisitAll(func(flag *pflag.Flag) { flags = append(flags, flag.Name) })
	slices.Sort(flags)
	if diff := cmp.Diff(flags, slices.Sorted(maps.Keys(schema.Properties.Args.Properties))); diff != "" {
		t.Errorf("flags (-program +chart):\n%s", diff)
	}
}
