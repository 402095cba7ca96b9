package config

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//proves:91
func TestLoad_WarnsOfUnknownNames(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"key with letters swapped": {
			"[LoadBalancer]\nfloating-netwrok-id=x\n",
			[]string{`cloud.conf [LoadBalancer] unknown key "floating-netwrok-id": did you mean "floating-network-id"?`},
		},
		"key in another case": {
			"[LoadBalancer]\nFloating-Netwrok-ID=x\n",
			[]string{`cloud.conf [LoadBalancer] unknown key "Floating-Netwrok-ID": did you mean "floating-network-id"?`},
		},
		"key like no other": {
			"[Networking]\nxyz=1\n",
			[]string{`cloud.conf [Networking] unknown key "xyz": it has no effect`},
		},
		"key of another section": {
			"[LoadBalancer]\nrouter-id=x\n",
			[]string{`cloud.conf [LoadBalancer] unknown key "router-id": it belongs into [Route]`},
		},
		"new word for an old key": {
			"[Global]\nproject-id=x\n",
			[]string{`cloud.conf [Global] unknown key "project-id": did you mean "tenant-id"?`},
		},
		"key that was removed": {
			"[LoadBalancer]\nuse-octavia=true\n",
			[]string{`cloud.conf [LoadBalancer] key "use-octavia" has no effect any more: Octavia is always used`},
		},
		"key in a class": {
			"[LoadBalancerClass \"gold\"]\nsubnet-id=x\nfloating-subent=x\n",
			[]string{`cloud.conf [LoadBalancerClass "gold"] unknown key "floating-subent": did you mean "floating-subnet"?`},
		},
		"class with quotes in its name": {
			"[LoadBalancerClass \"a \\\"b\\\"\"]\nsubnet-id=x\nsubnetid=x\n",
			[]string{`cloud.conf [LoadBalancerClass "a \"b\""] unknown key "subnetid": did you mean "subnet-id"?`},
		},
		"section": {
			"[Networkin]\npublic-network-name=a\ninternal-network-name=b\n",
			[]string{`cloud.conf unknown section [Networkin] is ignored: did you mean [Networking]?`},
		},
		"section like no other": {
			"[Wibble]\nx=1\n",
			[]string{`cloud.conf unknown section [Wibble] is ignored: it has no effect`},
		},
		"section with a needless name": {
			"[Route \"x\"]\nrouter-id=1\n",
			[]string{`cloud.conf [Route] takes no name: a section with one is ignored`},
		},
		"class without a name": {
			"[LoadBalancerClass]\nsubnet-id=1\n",
			[]string{`cloud.conf [LoadBalancerClass] has no name and is ignored: write [LoadBalancerClass "name"]`},
		},
		"the same key twice": {
			"[LoadBalancer]\nregoin=x\nregoin=y\n",
			[]string{`cloud.conf [LoadBalancer] unknown key "regoin": it has no effect`},
		},
		"known key twice": {
			"[Route]\nrouter-id=x\nrouter-id=y\n",
			[]string{`cloud.conf [Route] router-id is given 2 times: the last value is used`},
		},
		"ignored section": {
			"[BlockStorage]\nbs-version=v2\n[blockstorage]\nx=1\n",
			nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, warnings, err := Load(strings.NewReader(signIn+test.text), nil)
			if err != nil {
				t.Fatalf("a warning became an error: %v", err)
			}
			if diff := cmp.Diff(test.want, texts(warnings)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// A password that is not on the line of its key is no key, and is not repeated.
func TestLoad_NamesNoKeyThatMayBeASecret(t *testing.T) {
	t.Parallel()
	const hidden = "which may be a part of a secret and is not repeated"
	for name, text := range map[string]string{
		"on a line of its own":                 "[Global]\npassword=\nhunter-Two\n",
		"with a comment behind it":             "[Global]\npassword=\nhunter-Two ; mine\n",
		"far from its key":                     "[Global]\nhunter-Two\n[Route]\n",
		"before its key":                       "[Global]\nhunter-Two\npassword=\n",
		"in base64":                            "[Global]\napplication-credential-secret=\nhunter-Two==\n",
		"in quotes":                            "[Global]\nhunter-Two=\"\"\n",
		"its second line":                      "[Global]\npassword=first\nhunter-Two=half\n",
		"its third line":                       "[Global]\npassword=first\n\nsecond=line\n# or not\nhunter-Two=third\n",
		"in another section":                   "[LoadBalancer]\nhunter-Two\n",
		"in a class":                           "[LoadBalancerClass \"gold\"]\nhunter-Two\n",
		"once as a key with a value, then not": "[Global]\nhunter-Two=1\nhunter-Two\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found, _ := Load(strings.NewReader(signIn+text), nil)
			told := strings.Join(texts(found), "\n")
			if strings.Contains(strings.ToLower(told), "hunter") || !strings.Contains(told, hidden) {
				t.Errorf("warnings:\n%s", told)
			}
		})
	}
	_, found, err := Load(strings.NewReader(signIn+"tls-insecuer\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`cloud.conf [Global] unknown key in line ` + strconv.Itoa(strings.Count(signIn, "\n")+1) + `, ` + hidden + `: did you mean "tls-insecure"?`}
	if diff := cmp.Diff(want, texts(found)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLoad_WarnsOfAllUnknownNamesInFile(t *testing.T) {
	t.Parallel()
	_, warnings, err := Load(strings.NewReader(signIn+`regoin=R1
[LoadBalancer]
subnet-ib=x
use-octavia=true
[LoadBalancerClass "silver"]
network-ld=x
[LoadBalancerClass "gold"]
network-ld=x
[Metdata]
request-timeout=3
[LoadBalancer]
lb-methd=x
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{
		`cloud.conf [Global] unknown key "regoin": did you mean "region"?`:                             true,
		`cloud.conf [LoadBalancer] unknown key "subnet-ib": did you mean "subnet-id"?`:                 true,
		`cloud.conf [LoadBalancer] key "use-octavia" has no effect any more: Octavia is always used`:   true,
		`cloud.conf [LoadBalancerClass "silver"] unknown key "network-ld": did you mean "network-id"?`: true,
		`cloud.conf [LoadBalancerClass "gold"] unknown key "network-ld": did you mean "network-id"?`:   true,
		`cloud.conf unknown section [Metdata] is ignored: did you mean [Metadata]?`:                    true,
		`cloud.conf [LoadBalancer] unknown key "lb-methd": did you mean "lb-method"?`:                  true,
	}
	got := map[string]bool{}
	for _, text := range texts(warnings) {
		got[text] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLoad_ReturnsWarningsBesideErrors(t *testing.T) {
	t.Parallel()
	text := strings.Replace(signIn, "auth-url", "auth-ulr", 1)
	_, warnings, err := Load(strings.NewReader(text), nil)
	if err == nil {
		t.Fatal("no error without auth-url")
	}
	want := []string{`cloud.conf [Global] unknown key "auth-ulr": did you mean "auth-url"?`}
	if diff := cmp.Diff(want, texts(warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestParseUnknown_RejectsUnfamiliarText(t *testing.T) {
	t.Parallel()
	if got, ok := parseUnknown("something new"); ok {
		t.Errorf("read %+v", got)
	}
}
