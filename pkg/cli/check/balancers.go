package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// example is the load balancer of a Service with no settings but its class.
type example struct {
	settings *settings.Settings
	facts    desire.Facts
	// ignored are the settings without effect.
	ignored []annotation.Notice
	// pool is that of provider router; nil for others.
	pool *lookup.Pool
}

// balancers determines the load balancers of Services with the controller's own code.
type balancers struct {
	*cloud
	parser  *settings.Parser
	reader  *lookup.Reader
	drivers *driver.Registry
}

// loadBalancers describes the load balancers of Services, for each class.
func (c *cloud) loadBalancers(ctx context.Context) []Finding {
	conf := cloudprovider.WithKnownAnnotations(c.conf)
	parser, err := settings.NewParser(conf)
	if err != nil || len(conf.Refused.LoadBalancers) > 0 {
		return nil // reported with the configuration
	}
	b := &balancers{
		cloud: c, parser: parser,
		reader: lookup.New(c.session.Neutron(), c.session.Octavia(), c.session.LoadBalancerVersion, clock.RealClock{}, time.Hour),
		drivers: driver.NewRegistry(driver.Settings{
			DefaultProvider: conf.LoadBalancer.LBProvider, Serial: conf.LoadBalancer.ProviderRequiresSerialAPICalls,
		}),
	}
	var found []Finding
	for _, class := range append([]string{""}, slices.Sorted(maps.Keys(conf.LoadBalancerClass))...) {
		if len(conf.Refused.Classes[class]) == 0 {
			found = append(found, b.of(ctx, class)...)
		}
	}
	return append(found, b.routerVIPs(ctx)...)
}

// routerVIPs describes the network of VIPs of provider router, which Services may name whatever the default provider is.
func (b *balancers) routerVIPs(ctx context.Context) []Finding {
	network := b.conf.LoadBalancer.RouterVIPNetworkID
	if network == "" || b.conf.LoadBalancer.LBProvider == driver.Router { // then it is described already
		return nil
	}
	finding := Finding{Topic: LoadBalancers, Verdict: Good, Subject: "VIPs of provider router", Source: b.sourceOf("", "router-vip-network-id")}
	pool, err := b.reader.Pools.Of(ctx, network, v1.IPv4Protocol)
	if err != nil {
		if other, otherErr := b.reader.Pools.Of(ctx, network, v1.IPv6Protocol); otherErr == nil {
			pool, err = other, nil
		}
	}
	if err != nil {
		_, why := reasonOf(err)
		finding.Verdict, finding.Text = Wrong, "Services with this provider would be refused: "+why
		return []Finding{finding}
	}
	finding.Text = fmt.Sprintf("in subnet %s, by routes of router %s", pool.SubnetID, pool.RouterID)
	return []Finding{finding}
}

// of describes the load balancer of a Service of a class; "" means no class.
func (b *balancers) of(ctx context.Context, class string) []Finding {
	of := ""
	if class != "" {
		of = fmt.Sprintf("class %q: ", class)
	}
	say := func(verdict Verdict, subject, text, source string) Finding {
		return Finding{Topic: LoadBalancers, Verdict: verdict, Subject: of + subject, Text: text, Source: source}
	}
	got, err := b.example(ctx, class)
	if err != nil {
		setting, why := reasonOf(err)
		return []Finding{say(Wrong, "Services", "would be refused: "+why, cmp.Or(b.sourceOf(class, setting), b.sourceOfValue(class, why)))}
	}
	var found []Finding
	add := func(subject string, key string, verdict Verdict, text string) {
		found = append(found, say(verdict, subject, text, b.sourceOf(class, key)))
	}
	verdict, text := b.provider(ctx, got)
	add("provider", "lb-provider", verdict, text)
	key := "subnet-id"
	if got.settings.VIP.SubnetID == "" {
		key = "network-id"
	}
	verdict, text = b.vip(ctx, got)
	add("VIP", key, verdict, text)
	verdict, text = b.members(ctx, got)
	add("members", "member-subnet-id", verdict, text)
	verdict, text = b.floatingIP(ctx, got)
	add("floating IP", "floating-network-id", verdict, text)
	verdict, text = b.families(ctx, class, got)
	add("IP families", "", verdict, text)
	if got.facts.FlavorID != "" {
		add("flavor", "flavor-id", Good, got.facts.FlavorID)
	}
	if got.facts.AvailabilityZone != "" {
		add("availability zone", "availability-zone", Good, got.facts.AvailabilityZone)
	}
	for _, notice := range got.ignored {
		found = append(found, say(Warning, "Services", notice.Annotation+": "+notice.Message, ""))
	}
	if class != "" {
		return found // the certificate is the same for all
	}
	return append(found, b.certificate(ctx, say)...)
}

// example returns the load balancer of a Service of a class with one port of TCP.
func (b *balancers) example(ctx context.Context, class string) (example, error) {
	read, ignored, errs := b.parser.Parse(exampleService(class, v1.IPv4Protocol))
	if len(errs) == 0 && b.onlyIPv6(ctx, read.VIP) {
		read, ignored, errs = b.parser.Parse(exampleService(class, v1.IPv6Protocol))
	}
	if len(errs) > 0 {
		return example{}, message.Invalid(errs)
	}
	switch read.LoadBalancer.Provider {
	case driver.Router:
		return b.routed(ctx, read, ignored)
	case driver.PortForwarding:
		return b.forwarded(ctx, read, ignored)
	}
	version, err := b.reader.Version(ctx)
	if err != nil {
		return example{}, err
	}
	drv := b.drivers.For(read.LoadBalancer.Provider, version)
	if errs := read.For(drv).Validate(); len(errs) > 0 {
		return example{}, message.Invalid(errs)
	}
	facts, err := b.reader.Preview(ctx, read, drv)
	if err != nil {
		return example{}, err
	}
	return example{settings: read, facts: facts, ignored: slices.Concat(ignored, facts.Ignored, read.For(drv).Unused())}, nil
}

// routed returns the example of a Service of provider router, without a request to Octavia.
func (b *balancers) routed(ctx context.Context, read *settings.Settings, ignored []annotation.Notice) (example, error) {
	drv := b.drivers.For(driver.Router, driver.VersionTags)
	if errs := read.For(drv).Validate(); len(errs) > 0 {
		return example{}, message.Invalid(errs)
	}
	network := b.conf.LoadBalancer.RouterVIPNetworkID
	if network == "" {
		return example{}, errors.New("the provider router needs router-vip-network-id")
	}
	pool, err := b.reader.Pools.Of(ctx, network, read.Family)
	if err != nil {
		return example{}, err
	}
	facts := desire.Facts{Driver: drv, VIPNetworkID: pool.NetworkID, VIPSubnetID: pool.SubnetID}
	fip, why, err := b.reader.Floating(ctx, read, nil, model.VIP{NetworkID: pool.NetworkID, SubnetID: pool.SubnetID})
	if facts.NoFloatingIP = why; fip != nil {
		facts.FloatingNetworkID, facts.FloatingSubnetIDs = fip.NetworkID, fip.SubnetIDs
	}
	return example{settings: read, facts: facts, ignored: slices.Concat(ignored, read.For(drv).Unused()), pool: pool}, err
}

// forwarded returns the example of a Service of provider port-forwarding, without a request to Octavia.
func (b *balancers) forwarded(ctx context.Context, read *settings.Settings, ignored []annotation.Notice) (example, error) {
	drv := b.drivers.For(driver.PortForwarding, driver.VersionTags)
	errs := read.For(drv).Validate()
	has, err := b.session.Neutron().HasForwardings(ctx)
	switch {
	case len(errs) > 0:
		return example{}, message.Invalid(errs)
	case err != nil:
		return example{}, err
	case !has:
		return example{}, errors.New("the provider port-forwarding needs the service plug-in port_forwarding of Neutron, which this cloud lacks")
	case !read.FloatingIP():
		return example{}, errors.New("the provider port-forwarding needs a floating IP, and an internal Service, or one of IPv6, has none")
	}
	facts := desire.Facts{Driver: drv}
	fip, why, err := b.reader.Floating(ctx, read, nil, model.VIP{})
	if facts.NoFloatingIP = why; fip != nil {
		facts.FloatingNetworkID, facts.FloatingSubnetIDs = fip.NetworkID, fip.SubnetIDs
	}
	return example{settings: read, facts: facts, ignored: slices.Concat(ignored, read.For(drv).Unused())}, err
}

// forwards reports whether a Service has the provider port-forwarding.
func (e example) forwards() bool { return e.settings.LoadBalancer.Provider == driver.PortForwarding }

func exampleService(class string, family v1.IPFamily) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example", UID: "example"},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{family},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster, SessionAffinity: v1.ServiceAffinityNone,
			Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
		},
	}
	if class != "" {
		svc.Annotations = map[string]string{annotation.Class: class}
	}
	return svc
}

// onlyIPv6 reports whether the network of the VIP has no IPv4. Read errors are reported later.
func (b *balancers) onlyIPv6(ctx context.Context, vip settings.VIPSettings) bool {
	switch {
	case vip.SubnetID != "":
		family, err := b.reader.Family(ctx, model.VIP{SubnetID: vip.SubnetID})
		return err == nil && family == v1.IPv6Protocol
	case vip.NetworkID != "":
		subnets, err := b.session.Neutron().Subnets(ctx, vip.NetworkID)
		return err == nil && len(subnets) > 0 && !slices.ContainsFunc(subnets, func(s neutron.Subnet) bool { return s.IPVersion == 4 })
	}
	return false
}

// reasonOf returns the reason of a refusal, and the key of cloud.conf that causes it, "" for none:
// errors of settings name the annotation, which has the same name as the key.
func reasonOf(err error) (key, text string) {
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) {
		return "", err.Error()
	}
	var reasons []string
	for _, one := range invalid.Unwrap() {
		var wrong *field.Error
		if !errors.As(one, &wrong) {
			continue
		}
		name := wrong.Field[strings.LastIndex(wrong.Field, "/")+1:]
		name = strings.TrimSuffix(name, "]")
		if reason := wrong.ErrorBody(); wrong.Type == field.ErrorTypeForbidden {
			reasons = append(reasons, name+" "+wrong.Detail)
		} else {
			reasons = append(reasons, name+": "+reason)
		}
		key = cmp.Or(key, name)
	}
	return key, strings.Join(reasons, "; ")
}

// sourceOfValue returns the place in cloud.conf of a value in a text, such as an ID in an error of
// the cloud; "" for none.
func (b *balancers) sourceOfValue(class, text string) string {
	const shortest = 8 // a shorter one may be any word
	for _, section := range []string{fmt.Sprintf("[LoadBalancerClass %q]", class), "[LoadBalancer]"} {
		for _, s := range b.read.Settings {
			if s.Section == section && s.Given && len(s.Value) >= shortest && strings.Contains(text, s.Value) {
				return s.Source
			}
		}
	}
	return ""
}

// sourceOf returns the place of a key in cloud.conf: in the class, or else in [LoadBalancer]; ""
// for none.
func (b *balancers) sourceOf(class, key string) string {
	for _, section := range []string{fmt.Sprintf("LoadBalancerClass %q", class), "LoadBalancer"} {
		if s := b.read.Setting(section, key); s.Given {
			return s.Source
		}
	}
	return ""
}

func (b *balancers) provider(ctx context.Context, e example) (Verdict, string) {
	name := e.settings.LoadBalancer.Provider
	switch {
	case name == "":
		return Good, "the default of Octavia"
	case e.pool != nil:
		return Good, "router, without Octavia: routes of router " + e.pool.RouterID
	case e.forwards():
		return Good, "port-forwarding, without Octavia: floating IPs with port forwardings"
	}
	enabled, err := b.session.Octavia().Providers(ctx)
	switch {
	case apierror.IsForbidden(err) || apierror.IsNotFound(err):
		return Unchecked, name + ": this user may not list the providers"
	case err != nil:
		return Unchecked, name + ": " + err.Error()
	case !slices.Contains(enabled, name):
		return Wrong, fmt.Sprintf("%s is not enabled in Octavia: allowed are %s", name, strings.Join(enabled, ", "))
	}
	return Good, name
}

func (b *balancers) vip(ctx context.Context, e example) (Verdict, string) {
	switch {
	case e.forwards():
		return Good, "none: the floating IP leads to a NodePort"
	case e.facts.VIPSubnetID == "" && e.facts.VIPNetworkID != "":
		return Good, "in " + b.network(ctx, e.facts.VIPNetworkID) + ", in the subnet that Octavia chooses"
	case e.facts.VIPSubnetID == "":
		return Unchecked, "the subnet of most nodes, which is known only in the cluster: set subnet-id or network-id to fix it"
	}
	return b.subnet(ctx, e.facts.VIPSubnetID)
}

func (b *balancers) members(ctx context.Context, e example) (Verdict, string) {
	switch e.facts.MemberSubnetID {
	case "":
		if e.pool != nil {
			return Good, "the nodes whose default gateway is router " + e.pool.RouterID
		}
		if e.forwards() {
			return Good, "one node without a floating IP of its own"
		}
		return Good, "each in the subnet of its node"
	case e.facts.VIPSubnetID:
		return Good, "in the subnet of the VIP"
	}
	return b.subnet(ctx, e.facts.MemberSubnetID)
}

func (b *balancers) subnet(ctx context.Context, id string) (Verdict, string) {
	subnet, err := b.session.Neutron().Subnet(ctx, id)
	switch {
	case apierror.IsNotFound(err):
		return Wrong, fmt.Sprintf("there is no subnet %s, or this project cannot see it", id)
	case err != nil:
		return Unchecked, err.Error()
	}
	return Good, fmt.Sprintf("subnet %s, %s, of %s", nameAndID(subnet.Name, subnet.ID), subnet.CIDR, b.network(ctx, subnet.NetworkID))
}

func (b *balancers) network(ctx context.Context, id string) string {
	network, err := b.session.Neutron().Network(ctx, id)
	if err != nil {
		return "network " + id
	}
	return "network " + nameAndID(network.Name, network.ID)
}

func (b *balancers) floatingIP(ctx context.Context, e example) (Verdict, string) {
	switch {
	case e.settings.Internal:
		return Good, "none, because internal-lb or internal-by-default is true"
	case !e.settings.FloatingIP():
		return Good, "none, because there are no floating IPs of IPv6"
	case e.facts.NoFloatingIP != "":
		return Warning, e.facts.NoFloatingIP
	case e.facts.Chosen != "":
		return Warning, e.facts.Chosen
	}
	text := "from " + b.network(ctx, e.facts.FloatingNetworkID)
	if subnets := e.facts.FloatingSubnetIDs; len(subnets) > 0 {
		text += ", subnet " + strings.Join(subnets, ", then ")
	}
	if id := e.settings.Floating.SubnetID; id != "" {
		if _, err := b.session.Neutron().Subnet(ctx, id); err != nil {
			return Unchecked, text + ", which this user cannot read: that is usual for external networks"
		}
	}
	return Good, text
}

// families reports the IP families of the load balancer of a Service that prefers both.
func (b *balancers) families(ctx context.Context, class string, e example) (Verdict, string) {
	policy, first := v1.IPFamilyPolicyPreferDualStack, e.settings.Family
	both := exampleService(class, first)
	both.Spec.IPFamilyPolicy, both.Spec.IPFamilies = &policy, []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	if first == v1.IPv6Protocol {
		slices.Reverse(both.Spec.IPFamilies)
	}
	read, _, errs := b.parser.Parse(both)
	if len(errs) > 0 {
		return Unchecked, errs.ToAggregate().Error()
	}
	facts, why := desire.Facts{}, read.For(e.facts.Driver).LacksDualStack()
	if why == "" {
		var err error
		if facts, err = b.reader.Preview(ctx, read, e.facts.Driver); err != nil {
			return Unchecked, err.Error()
		}
		why = facts.OneFamily
	}
	switch {
	case why != "":
		return Good, fmt.Sprintf("only %s, because %s", first, why)
	case facts.AdditionalVIPs[0].SubnetID == "":
		return Good, "both, if the network of the nodes has subnets of both"
	}
	_, text := b.subnet(ctx, facts.AdditionalVIPs[0].SubnetID)
	return Good, fmt.Sprintf("both: a VIP of %s in %s", facts.AdditionalVIPs[0].Family, text)
}

// certificate checks the default certificate of listeners.
func (b *balancers) certificate(ctx context.Context, say func(Verdict, string, string, string) Finding) []Finding {
	ref := b.conf.LoadBalancer.DefaultTLSContainerRef
	if ref == "" || b.conf.LoadBalancer.ContainerStore == "external" {
		return nil
	}
	source := b.read.Setting("LoadBalancer", "default-tls-container-ref").Source
	if err := lookup.Certificates(ctx, b.session.Barbican(), []string{ref}, "default-tls-container-ref in cloud.conf"); err != nil {
		return []Finding{say(Wrong, "certificate", err.Error(), source)}
	}
	return []Finding{say(Good, "certificate", "is in Barbican", source)}
}
