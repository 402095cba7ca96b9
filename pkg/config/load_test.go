package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// signIn is the least [Global] that is complete.
const signIn = `[Global]
auth-url=https://keystone.example.com/v3
user-id=u1
password=pw
tenant-id=t1
`

// environment is an Environment with these variables.
func environment(variables map[string]string) Environment {
	return func(key string) (string, bool) {
		value, found := variables[key]
		return value, found
	}
}

// mustLoad loads a text that is right and gives no warning.
func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	config, warnings, err := Load(strings.NewReader(text), nil)
	if err != nil {
		t.Fatalf("loading: %v", err)
	}
	if len(warnings) > 0 {
		t.Fatalf("warnings: %v", warnings)
	}
	return config
}

// texts are the texts of the warnings.
func texts(warnings []Warning) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.String())
	}
	return all
}

// lines are the lines of an error, none for nil.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func seconds(n int) Duration { return Duration{time.Duration(n) * time.Second} }

func TestLoad_UsesDefaultsOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	want := &Config{
		Global: Global{AuthURL: "https://keystone.example.com/v3", UserID: "u1", Password: "pw", TenantID: "t1"},
		LoadBalancer: LoadBalancer{
			Enabled: true, LBProvider: "amphora", RouterMaxRoutes: 30, RouterNextHops: 1, LBMethod: "ROUND_ROBIN",
			MonitorDelay: seconds(5), MonitorTimeout: seconds(3), MonitorMaxRetries: 1, MonitorMaxRetriesDown: 3,
			CascadeDelete: true, IngressHostnameSuffix: "nip.io", SharedLBScope: "namespace", SharedLBUnmanaged: true, ContainerStore: "barbican", SecurityGroupMode: "per-service", MemberPort: "node-port", MemberWeights: "equal",
			DriftPolicy: "repair", DriftInterval: Duration{5 * time.Minute}, GarbagePolicy: "report", GarbageInterval: Duration{time.Hour},
			DenyAnnotations: "floating-ip-id,floating-ip-tag,vip-qos-policy-id,vip-sg-ids", MaxPorts: 100, MaxSourceRanges: 1000,
		},
		LoadBalancerClass: map[string]*LoadBalancerClass{},
		Node:              Node{MaxGonePercent: 50, ShutdownStatus: "SHUTOFF,SHELVED,SHELVED_OFFLOADED"},
		Metadata:          Metadata{SearchOrder: "configDrive,metadataService", RequestTimeout: seconds(60)},
	}
	if diff := cmp.Diff(want, mustLoad(t, signIn)); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestLoad_ReadsEveryKey(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("testdata", "full.conf"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Global: Global{
			AuthURL: "https://keystone.example.com/v3", Username: "un", UserID: "ui", Password: "pw",
			TenantID: "ti", TenantName: "tn", DomainID: "di", DomainName: "dn",
			TenantDomainID: "tdi", TenantDomainName: "tdn", UserDomainID: "udi", UserDomainName: "udn",
			TrustID: "tri", TrusteeID: "tei", TrusteePassword: "tep",
			ApplicationCredentialID: "aci", ApplicationCredentialName: "acn", ApplicationCredentialSecret: "acs",
			Token: "tok", Region: "RegionOne", EndpointType: "internal",
			CAFile: "ca.pem", CertFile: "cert.pem", KeyFile: "key.pem", TLSInsecure: true,
			CloudsFile: "clouds.yaml", Cloud: "c",
		},
		LoadBalancer: LoadBalancer{
			Enabled: false, LBVersion: "v2", OctaviaAPIVersion: "2.26", LBProvider: "ovn", RouterVIPNetworkID: "vn", RouterMaxRoutes: 29, RouterNextHops: 2, LBMethod: "SOURCE_IP_PORT",
			SubnetID: "s", MemberSubnetID: "ms", MemberAddressBySubnet: true, NetworkID: "n", FloatingNetworkID: "fn", FloatingSubnetID: "fs",
			FloatingSubnet: "public-*", FloatingSubnetTags: "a,b", CreateMonitor: true,
			MonitorDelay: seconds(10), MonitorTimeout: seconds(7), MonitorMaxRetries: 2, MonitorMaxRetriesDown: 4,
			MonitorKubeProxy: true, MonitorPorts: "8080,9000-9099", ManageSecurityGroups: true, SecurityGroupMode: "shared", InternalLB: true, InternalByDefault: true, NodeSelector: "pool=web,edge", CascadeDelete: false,
			FlavorID: "f", AvailabilityZone: "az", DenyAnnotations: "port-id,hostname", MaxPorts: 9, MaxSourceRanges: 50, MaxServicesPerNamespace: 4,
			VIPQoSPolicyID:        "11111111-1111-4111-8111-111111111111",
			VIPSecurityGroupIDs:   "22222222-2222-4222-8222-222222222222, 33333333-3333-4333-8333-333333333333",
			EnableIngressHostname: true, IngressHostnameSuffix: "sslip.io",
			MaxSharedLB: ptr(9), SharedLBScope: "cluster", DefaultTLSContainerRef: "ref", ContainerStore: "external", ProviderRequiresSerialAPICalls: true,
			DriftPolicy: "report", DriftInterval: Duration{7 * time.Minute}, GarbagePolicy: "delete", GarbageInterval: Duration{2 * time.Hour}, Members: "endpoint-nodes", MemberPort: "service", MemberWeights: "drain", PodNetworks: "10.244.0.0/16, fd00:10::/48", MaxMembers: 25,
			ConnectionLimit: ptr(1000), TimeoutClientData: ptr(60000), TimeoutMemberConnect: ptr(6000), TimeoutMemberData: ptr(61000),
			TimeoutTCPInspect: ptr(10), AppProtocol: true, Tags: "a, b=c",
		},
		LoadBalancerClass: map[string]*LoadBalancerClass{
			"gold": {
				FloatingNetworkID: "gfn", FloatingSubnetID: "gfs", FloatingSubnet: "~gold[0-9]+", FloatingSubnetTags: "&x,y",
				NetworkID: "gn", SubnetID: "gs", MemberSubnetID: "gms", MemberAddressBySubnet: ptr(false), Members: "nodes", MemberWeights: "equal", MaxMembers: 9, RouterNextHops: 3,
				LBProvider: "amphora", LBMethod: "LEAST_CONNECTIONS", FlavorID: "gf", AvailabilityZone: "gaz",
				VIPQoSPolicyID: "none", VIPSecurityGroupIDs: "44444444-4444-4444-8444-444444444444",
				InternalLB: ptr(false), InternalByDefault: ptr(true), CreateMonitor: ptr(false), MonitorDelay: seconds(20), MonitorTimeout: seconds(17),
				MonitorMaxRetries: 5, MonitorMaxRetriesDown: 6, MonitorKubeProxy: ptr(true),
				ConnectionLimit: ptr(-1), TimeoutClientData: ptr(0), TimeoutMemberConnect: ptr(1), TimeoutMemberData: ptr(2),
				TimeoutTCPInspect: ptr(3), AppProtocol: ptr(true), Tags: "gold",
			},
			"two words": {SubnetID: "ts"},
		},
		Networking: Networking{
			IPv6SupportDisabled: true, PublicNetworkName: []string{"public", "second public"},
			InternalNetworkName: []string{"private"}, AddressSortOrder: "10.0.0.0/8, 2001:db8::/32",
		},
		Node: Node{
			DeletionGracePeriod: seconds(90), MaxGonePercent: 20, ShutdownStatus: "SHUTOFF, SUSPENDED", Region: []string{"RegionTwo", "RegionThree"},
		},
		Route:    Route{RouterID: "r"},
		Metadata: Metadata{SearchOrder: "metadataService", RequestTimeout: seconds(30)},
		Limits:   Limits{Creates: 1, Deletes: 2, Updates: 3, Reads: 4, NetworkWrites: 5},
	}
	got, _, err := Load(strings.NewReader(string(content)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	for _, s := range sections() {
		for _, key := range s.keys() {
			if key != "use-clouds" && !strings.Contains(string(content), "\n"+key+"=") {
				t.Errorf("testdata/full.conf lacks [%s] %s", s.name, key)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

// Every configuration begins with a copy of the same defaults.
func TestDefaults_ShareNothing(t *testing.T) {
	t.Parallel()
	var shared func(at string, v reflect.Value)
	shared = func(at string, v reflect.Value) {
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				shared(at+"."+v.Type().Field(i).Name, v.Field(i))
			}
			return
		}
		references := []reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface}
		if slices.Contains(references, v.Kind()) && !v.IsNil() {
			t.Errorf("%s has a default that all configurations would share", at)
		}
	}
	shared("Config", reflect.ValueOf(defaults()))
}

func TestLoad_AcceptsSyntaxOfGcfg(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		get  func(*Config) any
		want any
	}{
		"byte order mark":            {"\ufeff" + signIn, func(c *Config) any { return c.Global.UserID }, "u1"},
		"windows line ends":          {strings.ReplaceAll(signIn, "\n", "\r\n"), func(c *Config) any { return c.Global.TenantID }, "t1"},
		"case of names":              {signIn + "[loadbalancer]\nLB-Method=SOURCE_IP\n", func(c *Config) any { return c.LoadBalancer.LBMethod }, "SOURCE_IP"},
		"quotes keep the hash sign":  {strings.Replace(signIn, "=pw", `="a#b;c"`, 1), func(c *Config) any { return c.Global.Password }, "a#b;c"},
		"spaces and comments":        {"# c\n" + signIn + "; c\nregion = R1 # c\n", func(c *Config) any { return c.Global.Region }, "R1"},
		"boolean without a value":    {signIn + "[LoadBalancer]\ncreate-monitor\n", func(c *Config) any { return c.LoadBalancer.CreateMonitor }, true},
		"boolean as yes":             {signIn + "[LoadBalancer]\ncreate-monitor=Yes\n", func(c *Config) any { return c.LoadBalancer.CreateMonitor }, true},
		"boolean as off":             {signIn + "[LoadBalancer]\nenabled=off\n", func(c *Config) any { return c.LoadBalancer.Enabled }, false},
		"hexadecimal number":         {signIn + "[LoadBalancer]\nmax-shared-lb=0x10\n", func(c *Config) any { return *c.LoadBalancer.MaxSharedLB }, 16},
		"bare seconds":               {signIn + "[LoadBalancer]\nmonitor-delay=15\n", func(c *Config) any { return c.LoadBalancer.MonitorDelay }, seconds(15)},
		"section in two parts":       {signIn + "[Route]\nrouter-id=r\n[Global]\nregion=R2\n", func(c *Config) any { return c.Global.Region }, "R2"},
		"list without a value":       {signIn + "[Networking]\npublic-network-name=a\npublic-network-name\n", func(c *Config) any { return len(c.Networking.PublicNetworkName) }, 0},
		"empty value of a string":    {signIn + "[LoadBalancer]\nsubnet-id=\n", func(c *Config) any { return c.LoadBalancer.SubnetID }, ""},
		"ignored section":            {signIn + "[BlockStorage]\nbs-version=v2\nrescan-on-resize=maybe\n", func(c *Config) any { return c.Route.RouterID }, ""},
		"tls-insecure false":         {signIn + "tls-insecure=false\n", func(c *Config) any { return c.Global.TLSInsecure }, false},
		"endpoint type in long form": {signIn + "os-endpoint-type=adminURL\n", func(c *Config) any { return c.Global.EndpointType }, "admin"},
		"algorithm of provider ovn":  {signIn + "[LoadBalancer]\nlb-provider=ovn\n", func(c *Config) any { return c.LoadBalancer.LBMethod }, "SOURCE_IP_PORT"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.get(mustLoad(t, test.text))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoad_RefusesHugeFile(t *testing.T) {
	t.Parallel()
	_, _, err := Load(strings.NewReader(signIn+strings.Repeat("#", maxFileSize)), nil)
	if err == nil || err.Error() != "the file is larger than 1048576 bytes" {
		t.Errorf("error %v", err)
	}
}

type brokenReader struct{ error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.error }

func TestLoad_ReturnsReadError(t *testing.T) {
	t.Parallel()
	if _, _, err := Load(brokenReader{io.ErrUnexpectedEOF}, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

func TestLoadFile_NamesFileInErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cloud.conf")
	if _, _, err := LoadFile(path, nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: error %v", err)
	}
	writeFile(t, path, "[Global]\n")
	if _, _, err := LoadFile(path, nil); err == nil || !strings.HasPrefix(err.Error(), "reading cloud config "+path+": ") {
		t.Errorf("empty file: error %v", err)
	}
	writeFile(t, path, signIn)
	if config, _, err := LoadFile(path, nil); err != nil || config.Global.UserID != "u1" {
		t.Errorf("good file: %v, error %v", config, err)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestClass_IsFoundByName(t *testing.T) {
	t.Parallel()
	config := mustLoad(t, signIn+`
[LoadBalancerClass "silver"]
subnet-id=s1
[LoadBalancerClass "gold"]
subnet-id=s2
`)
	class, err := config.Class("gold")
	if err != nil || class.SubnetID != "s2" {
		t.Errorf("class gold: %+v, error %v", class, err)
	}
	_, err = config.Class("bronze")
	if diff := cmp.Diff([]string{`cloud.conf has no load balancer class "bronze": known are "gold", "silver"`}, lines(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	_, err = mustLoad(t, signIn).Class("gold")
	if diff := cmp.Diff([]string{`there is no load balancer class "gold": cloud.conf has none`}, lines(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}
