package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//proves:91
func TestLoad_RefusesBadValues(t *testing.T) {
	t.Parallel()
	number := func(key, value, allowed string) (string, string) {
		return "[LoadBalancer]\n" + key + "=" + value + "\n",
			`cloud.conf [LoadBalancer] ` + key + ` "` + value + `": allowed is ` + allowed
	}
	tests := map[string]struct{ text, want string }{
		"algorithm": {
			"[LoadBalancer]\nlb-method=round_robin\n",
			`cloud.conf [LoadBalancer] lb-method "round_robin": allowed is ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT`,
		},
		"provider of two words": {
			"[LoadBalancer]\nlb-provider=amphora ovn\n",
			`cloud.conf [LoadBalancer] lb-provider "amphora ovn": it is not one word: allowed is the name of an Octavia provider, such as amphora or ovn`,
		},
		"boolean": {
			"[LoadBalancer]\ncreate-monitor=maybe\n",
			`cloud.conf [LoadBalancer] create-monitor "maybe": allowed is true, yes, on, 1 or false, no, off, 0`,
		},
		"verification off by a word that is not true": {
			"[Global]\ntls-insecure=yes\n",
			`cloud.conf [Global] tls-insecure "yes": it is neither true nor false: allowed is true or false`,
		},
		"verification off by no word at all": {
			"[Global]\ntls-insecure\n",
			`cloud.conf [Global] tls-insecure has no value: allowed is true or false`,
		},
		"string without a value": {
			"[LoadBalancer]\nsubnet-id\n",
			`cloud.conf [LoadBalancer] subnet-id has no value: allowed is a value after =`,
		},
		"duration": {
			"[LoadBalancer]\nmonitor-delay=5x\n",
			`cloud.conf [LoadBalancer] monitor-delay "5x": reading duration: time: unknown unit "x" in duration "5x": allowed is a duration of whole seconds, at least 1s (such as 5s or 5)`,
		},
		"version of an API": {
			"[LoadBalancer]\noctavia-api-version=latest\n",
			`cloud.conf [LoadBalancer] octavia-api-version "latest": it is not such a version: allowed is a version 2.N, such as 2.26`,
		},
		"negative duration": {
			"[Metadata]\nrequest-timeout=-5s\n",
			`cloud.conf [Metadata] request-timeout "-5s": duration -5s is negative: allowed is a duration that is not negative (such as 5s, 1m30s or 5 for seconds)`,
		},
		"negative bare seconds": {
			"[Metadata]\nrequest-timeout=-5\n",
			`cloud.conf [Metadata] request-timeout "-5": duration -5s is negative: allowed is a duration that is not negative (such as 5s, 1m30s or 5 for seconds)`,
		},
		"delay of less than a second": {
			"[LoadBalancer]\nmonitor-timeout=500ms\n",
			`cloud.conf [LoadBalancer] monitor-timeout "500ms": it is less than a second: allowed is a duration of whole seconds, at least 1s (such as 5s or 5)`,
		},
		"delay of a broken second": {
			"[LoadBalancer]\nmonitor-delay=5.5\n",
			`cloud.conf [LoadBalancer] monitor-delay "5.5": it is not a whole number of seconds: allowed is a duration of whole seconds, at least 1s (such as 5s or 5)`,
		},
		"container store": {
			"[LoadBalancer]\ncontainer-store=vault\n",
			`cloud.conf [LoadBalancer] container-store "vault": allowed is barbican, external`,
		},
		"API version": {
			"[LoadBalancer]\nlb-version=v1\n",
			`cloud.conf [LoadBalancer] lb-version "v1": allowed is v2`,
		},
		"host name": {
			"[LoadBalancer]\ningress-hostname-suffix=.nip.io\n",
			`cloud.conf [LoadBalancer] ingress-hostname-suffix ".nip.io": it is not a DNS name: allowed is a DNS name`,
		},
		"address order": {
			"[Networking]\naddress-sort-order=10.0.0.0/8, 10.0.0.1\n",
			`cloud.conf [Networking] address-sort-order "10.0.0.0/8, 10.0.0.1": "10.0.0.1" is not a CIDR block: allowed is CIDR blocks separated by commas or spaces`,
		},
		"share of Nodes": {
			"[Node]\nmax-gone-percent=101\n",
			`cloud.conf [Node] max-gone-percent "101": allowed is a whole number from 0 to 100`,
		},
		"status of a server": {
			"[Node]\nshutdown-status=SHUTOFF, ACTIVE\n",
			`cloud.conf [Node] shutdown-status "SHUTOFF, ACTIVE": unknown status "ACTIVE": allowed is statuses separated by commas, of SHUTOFF, SHELVED, SHELVED_OFFLOADED, SUSPENDED, PAUSED, RESCUE, ERROR`,
		},
		"regions beside none": {
			"[Node]\nregion=RegionTwo\n",
			`cloud.conf [Global]: [Node] region is incomplete: missing region`,
		},
		"endpoint type": {
			"[Global]\nos-endpoint-type=outer\n",
			`cloud.conf [Global] os-endpoint-type "outer": allowed is public, internal, admin, publicURL, internalURL, adminURL`,
		},
		"search order": {
			"[Metadata]\nsearch-order=configDrive,disk\n",
			`cloud.conf [Metadata] search-order "configDrive,disk": "disk" is not known: allowed is configDrive, metadataService or both, separated by a comma`,
		},
		"node selector": {
			"[LoadBalancer]\nnode-selector=a=b,=c\n",
			`cloud.conf [LoadBalancer] node-selector "a=b,=c": a label without a key: allowed is node labels as key=value or key, separated by commas; also zone in (a,b), zone notin (a,b), zone!=a and !key`,
		},
		"subnet pattern": {
			"[LoadBalancer]\nfloating-subnet=~pub(lic\n",
			"cloud.conf [LoadBalancer] floating-subnet \"~pub(lic\": reading subnet pattern \"~pub(lic\": error parsing regexp: missing closing ): `pub(lic`: allowed is a glob, or a regular expression after ~; a leading ! negates",
		},
		"subnet pattern of a class": {
			"[LoadBalancerClass \"gold\"]\nfloating-subnet=!\n",
			`cloud.conf [LoadBalancerClass "gold"] floating-subnet "!": reading subnet pattern "!": the pattern is empty: allowed is a glob, or a regular expression after ~; a leading ! negates`,
		},
		"negative limit": {
			"[Limits]\nreads=-1\n",
			`cloud.conf [Limits] reads "-1": allowed is a whole number from 0 to 1000`,
		},
		"limit that limits nothing": {
			"[Limits]\ncreates=1001\n",
			`cloud.conf [Limits] creates "1001": allowed is a whole number from 0 to 1000`,
		},
		"subnet tags": {
			"[LoadBalancer]\nfloating-subnet-tags=&,,\n",
			`cloud.conf [LoadBalancer] floating-subnet-tags "&,,": reading subnet tags "&,,": a tag is empty: allowed is tags separated by commas: any of them, all of them after &; a leading ! negates`,
		},
	}
	for name, values := range map[string][3]string{
		"shared by nobody":       {"max-shared-lb", "0", "a whole number, at least 1"},
		"shared by less":         {"max-shared-lb", "-1", "a whole number, at least 1"},
		"broken number":          {"max-shared-lb", "1.5", "a whole number, at least 1"},
		"number of words":        {"max-shared-lb", "two", "a whole number, at least 1"},
		"huge number":            {"max-shared-lb", "99999999999999999999", "a whole number, at least 1"},
		"no successful probe":    {"monitor-max-retries", "0", "a whole number from 1 to 10"},
		"too many probes":        {"monitor-max-retries", "11", "a whole number from 1 to 10"},
		"negative failed probes": {"monitor-max-retries-down", "-3", "a whole number from 1 to 10"},
	} {
		text, want := number(values[0], values[1], values[2])
		tests[name] = struct{ text, want string }{text, want}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, _, err := Load(strings.NewReader(signIn+test.text), nil)
			if balancing := strings.HasPrefix(test.text, "[LoadBalancer"); (config != nil) != balancing || (err == nil) != balancing {
				t.Fatalf("got %v, %v; want nodes to be served where only load balancers are concerned", config, err)
			}
			if err == nil {
				err = errors.Join(config.Refused.LoadBalancers...)
				for _, wrong := range config.Refused.Classes {
					err = errors.Join(err, errors.Join(wrong...))
				}
			}
			if diff := cmp.Diff([]string{test.want}, lines(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoad_RefusesMalformedAuthURL(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"keystone.example.com":          "it does not start with http:// or https://",
		"keystone:5000/v3":              "it does not start with http:// or https://",
		"/v3":                           "it does not start with http:// or https://",
		"ftp://keystone.example.com":    "it does not start with http:// or https://",
		"https:///v3":                   "it has no host",
		"https://:5000/v3":              "it has no host",
		"https://key stone/v3":          "it is not a URL",
		"https://keystone:port/v3":      "it is not a URL",
		"https://u:geheim@keystone/v3":  "it has a user or password in it",
		"https://u:geheim@keystone:x/":  "it is not a URL",
		"http://u:geheim%40keystone/v3": "it is not a URL",
		"u:geheim%40keystone/v3":        "it does not start with http:// or https://",
		"https:/u:geheim@keystone/v3":   "it has no host",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			conf := strings.Replace(signIn, "https://keystone.example.com/v3", text, 1)
			_, _, err := Load(strings.NewReader(conf), nil)
			want := []string{`cloud.conf [Global] auth-url "` + PrintableURL(text) + `": ` + reason + `: allowed is an absolute http or https URL without user and password`}
			if diff := cmp.Diff(want, lines(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("%v has the password", err)
			}
		})
	}
}

// A wrong value of [LoadBalancer] must not keep nodes from joining. It is reported when a load
// balancer needs it, and the settings have their defaults meanwhile.
func TestLoad_DefersWrongLoadBalancerValuesToTheirUsers(t *testing.T) {
	t.Parallel()
	config, _, err := Load(strings.NewReader(signIn+`[LoadBalancer]
lb-method=fastest
subnet-id=s1
monitor-max-retries=0
connection-limit=-7
[LoadBalancerClass "gold"]
lb-method=slowest
subnet-id=s2
[LoadBalancerClass "silver"]
subnet-id=s3
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	lb := config.LoadBalancer
	if lb.LBMethod != "ROUND_ROBIN" || lb.SubnetID != "s1" || lb.MonitorMaxRetries != 1 || lb.ConnectionLimit != nil {
		t.Errorf("[LoadBalancer] is %+v", lb)
	}
	if len(config.Refused.LoadBalancers) != 3 || len(config.Refused.Classes) != 1 {
		t.Errorf("refused are %+v", config.Refused)
	}
	if class, err := config.Class("silver"); err != nil || class.SubnetID != "s3" {
		t.Errorf("class silver is %+v, %v", class, err)
	}
	_, err = config.Class("gold")
	var value *ValueError
	if !errors.As(err, &value) || value.Value != "slowest" || !strings.Contains(err.Error(), "operator") {
		t.Errorf("class gold: %v", err)
	}
}

// Templates render keys without values.
func TestLoad_TreatsEmptyValuesAsNotGiven(t *testing.T) {
	t.Parallel()
	defaults := mustLoad(t, signIn)
	for _, s := range sections() {
		name := s.name
		if s.named {
			name += ` "gold"`
		}
		for _, o := range s.options {
			if s.name == "Global" && strings.Contains(signIn, o.key) {
				continue // it would be given twice
			}
			text := "[" + name + "]\n" + o.key + "=\n"
			got, warnings, err := Load(strings.NewReader(signIn+text), nil)
			if err != nil || len(got.Refused.LoadBalancers) > 0 || len(got.Refused.Classes) > 0 {
				t.Errorf("%s: %v, %+v", text, err, got)
				continue
			}
			want := *defaults
			if s.named {
				want.LoadBalancerClass = map[string]*LoadBalancerClass{"gold": {}}
			}
			switch o.key {
			case "deny-annotations": // empty allows all
				want.LoadBalancer.DenyAnnotations = ""
			case "lb-provider": // Octavia chooses
				if !s.named {
					want.LoadBalancer.LBProvider = ""
				}
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
			if told := len(warnings) == 1 && strings.Contains(warnings[0].String(), o.key+" is empty, which counts as not given"); told != o.emptyIsNone() {
				t.Errorf("%s: warnings %v", text, warnings)
			}
		}
	}
}

func TestLoad_ReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, warnings, err := Load(strings.NewReader(`[Global]
auth-url=keystone
username=un
password
cert-file=c.pem
[LoadBalancer]
lb-method=BOGUS
create-monitor=maybe
monitor-delay=-1s
max-shared-lb=0
lb-provder=x
[LoadBalancerClass "gold"]
floating-subnet=~(
[Networking]
address-sort-order=all
`), nil)
	var got []string
	for _, line := range lines(err) {
		place, _, _ := strings.Cut(line, ": ")
		got = append(got, place)
	}
	want := []string{
		`cloud.conf [Global] auth-url "keystone"`,
		`cloud.conf [Global] password has no value`,
		`cloud.conf [LoadBalancer] lb-method "BOGUS"`,
		`cloud.conf [LoadBalancer] create-monitor "maybe"`,
		`cloud.conf [LoadBalancer] monitor-delay "-1s"`,
		`cloud.conf [LoadBalancer] max-shared-lb "0"`,
		`cloud.conf [LoadBalancerClass "gold"] floating-subnet "~("`,
		`cloud.conf [Networking] address-sort-order "all"`,
		`cloud.conf [Global]`,
		`cloud.conf [Global]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	if len(warnings) != 1 {
		t.Errorf("warnings %v", warnings)
	}
}

func TestLoad_DistinguishesErrorsByType(t *testing.T) {
	t.Parallel()
	_, _, err := Load(strings.NewReader("[Global]\nauth-url=x\n[LoadBalancer]\nlb-method=x\n"), nil)
	var value *ValueError
	if !errors.As(err, &value) || value.Place != "cloud.conf [Global] auth-url" || value.Value != "x" || value.Unwrap() == nil {
		t.Errorf("value error %+v", value)
	}
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Source != "cloud.conf [Global]" {
		t.Errorf("missing error %+v", missing)
	}
}

func TestLoad_WarnsOfSurprisingValues(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want string
	}{
		"provider of a vendor": {
			"[LoadBalancer]\nlb-provider=a10\n",
			`cloud.conf [LoadBalancer] lb-provider "a10" is used as it is: known are amphora, amphorav2, octavia, ovn, f5, router, port-forwarding`,
		},
		"algorithm that ovn does not know": {
			"[LoadBalancer]\nlb-provider=ovn\nlb-method=ROUND_ROBIN\n",
			`cloud.conf [LoadBalancer] lb-method "ROUND_ROBIN": provider ovn supports only SOURCE_IP_PORT`,
		},
		"calls without an end": {
			"[Metadata]\nrequest-timeout=0\n",
			`cloud.conf [Metadata] request-timeout is 0: a call that gets no answer waits for ten minutes`,
		},
		"cloud without use-clouds": {
			"[Global]\ncloud=c\n",
			`cloud.conf [Global] cloud is ignored without use-clouds=true`,
		},
		"clouds-file without use-clouds": {
			"[Global]\nclouds-file=c.yaml\nuse-clouds=false\n",
			`cloud.conf [Global] clouds-file is ignored without use-clouds=true`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, warnings, err := Load(strings.NewReader(signIn+test.text), nil)
			if err != nil {
				t.Fatalf("a warning became an error: %v", err)
			}
			if diff := cmp.Diff([]string{test.want}, texts(warnings)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
