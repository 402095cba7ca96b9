package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Parser reads the settings of Services. Its methods are safe for concurrent use.
type Parser struct {
	config *config.Config
	// denied are the annotations that no Service may use.
	denied []string
}

// NewParser returns the Parser of a configuration. It returns an error if deny-annotations contains
// unknown annotations.
func NewParser(cfg *config.Config) (*Parser, error) {
	denied, err := annotation.Denied(cfg.LoadBalancer.DenyAnnotations)
	if err != nil {
		return nil, fmt.Errorf("[LoadBalancer] deny-annotations: %w", err)
	}
	return &Parser{config: cfg, denied: denied}, nil
}

// Parse returns the settings of a Service, notices about settings without effect, and all errors.
// With errors, the settings are those that are readable.
func (p *Parser) Parse(svc *v1.Service) (*Settings, []annotation.Notice, field.ErrorList) {
	r := p.read(svc)
	first, dual := families(svc)
	s := &Settings{
		Family:       first,
		Second:       dual.Second,
		Dual:         dual,
		Internal:     r.from.conf.InternalLB || ptr.Deref(r.from.values.Internal, r.from.conf.InternalByDefault),
		Traffic:      r.traffic(),
		LoadBalancer: r.from.loadBalancer(svc),
		VIP:          r.from.vip(),
		Listeners:    r.from.listeners(),
		Pools:        r.from.pools(),
		Monitor:      r.from.monitor(),
		Malformed:    r.from.malformed(),
		ports:        r.from.values.Ports,
		parser:       p,
		service:      svc,
	}
	r.noticeMalformed(s.Malformed)
	if r.from.conf.InternalLB && r.from.values.Internal != nil && !*r.from.values.Internal {
		r.notice(annotation.Internal, "cloud.conf has internal-lb=true: all load balancers are internal")
	}
	if !ptr.Deref(r.from.values.LoadBalancer.Managed, true) {
		r.notice(annotation.Managed, "nothing is written to OpenStack for the Service: plan shows the changes that are not made")
	}
	r.noticeShare()
	s.Members = r.members(s.VIP.SubnetID)
	s.Access = r.access(s.Families())
	s.Metrics = r.metrics(s.Family)
	s.Status = r.status()
	s.LoadBalancerIP = r.loadBalancerIP(s.Families())
	s.VIP.Address = r.vipAddress(s.Families())
	r.refuse(validateVIPAddress(s)...)
	s.Floating = r.floating()
	r.refuse(validateFloatingIP(s)...)
	r.noticeMonitors(s)
	r.noticeFloatingIP(s)
	r.noticeSpec()
	return s, r.notices, r.errs
}

// SelectsNodes reports whether labels select the members of a Service: its node selector or, if not
// all nodes become members, their zones. It reads only these settings, because it is called for all
// Services at each change of a node.
func (p *Parser) SelectsNodes(svc *v1.Service) bool {
	if p.limitsMembers(svc) {
		return true
	}
	text, ok := svc.Annotations[annotation.NodeSelector]
	if !ok {
		text = p.config.LoadBalancer.NodeSelector
	}
	return len(text) <= annotation.MaxSelector && strings.TrimSpace(text) != ""
}

// Manages reports whether the controller may write the objects of a Service in the cloud. It reads
// only this setting.
func (p *Parser) Manages(svc *v1.Service) bool {
	return strings.TrimSpace(svc.Annotations[annotation.Managed]) != "false" || slices.Contains(p.denied, annotation.Managed)
}

// limitsMembers reports whether a Service may have fewer members than there are nodes.
func (p *Parser) limitsMembers(svc *v1.Service) bool {
	if local(svc) {
		return false
	}
	if text := strings.TrimSpace(svc.Annotations[annotation.MaxMembers]); text != "" {
		return text != "0"
	}
	class := p.config.LoadBalancerClass[strings.TrimSpace(svc.Annotations[annotation.Class])]
	return p.config.LoadBalancer.MaxMembers > 0 || class != nil && class.MaxMembers > 0
}

// reading is the state of reading a Service.
type reading struct {
	svc     *v1.Service
	from    levels
	notices []annotation.Notice
	errs    field.ErrorList
}

func (p *Parser) read(svc *v1.Service) *reading {
	allowed, denied := p.permitted(svc)
	section := &p.config.LoadBalancer
	r := &reading{svc: svc, from: levels{class: &config.LoadBalancerClass{}, section: section, conf: section}}
	var malformed field.ErrorList
	r.from.values, r.notices, malformed = annotation.Parse(allowed)
	r.errs = slices.Concat(wrongConfig(p.config), denied, malformed)
	if name := r.from.values.LoadBalancer.Class; name != nil {
		class, err := p.config.Class(*name)
		if err != nil {
			r.refuse(field.Invalid(annotation.Path(annotation.Class), *name, err.Error()+"; ask the cluster's operator for it"))
		} else {
			conf := section.With(class)
			r.from.class, r.from.conf = class, &conf
		}
	}
	return r
}

func (r *reading) refuse(errs ...*field.Error) { r.errs = append(r.errs, errs...) }

func (r *reading) notice(name, text string) {
	r.notices = append(r.notices, annotation.Notice{Annotation: name, Message: text})
}

// permitted returns the annotations of a Service without those that it may not use, also for single
// ports, and an error for each of these.
func (p *Parser) permitted(svc *v1.Service) (map[string]string, field.ErrorList) {
	if len(p.denied) == 0 {
		return svc.Annotations, nil
	}
	var errs field.ErrorList
	allowed, names := svc.Annotations, slices.Sorted(maps.Keys(svc.Annotations))
	for _, denied := range p.denied {
		for _, name := range names {
			if base, _ := annotation.Base(name); base != denied {
				continue
			}
			if len(errs) == 0 {
				allowed = maps.Clone(allowed)
			}
			delete(allowed, name)
			errs = append(errs, field.Invalid(annotation.Path(name), svc.Annotations[name],
				"deny-annotations of cloud.conf forbids this annotation: remove it, or ask the cluster's operator"))
		}
	}
	return allowed, errs
}

func (r *reading) members(vipSubnetID string) MemberSettings {
	m := MemberSettings{
		Mode:            cmp.Or(ptr.Deref(r.from.values.Members.Mode, ""), r.from.conf.Members),
		SubnetID:        cmp.Or(ptr.Deref(r.from.values.Members.SubnetID, ""), r.from.class.MemberSubnetID, r.from.conf.MemberSubnetID),
		DefaultSubnetID: cmp.Or(r.from.section.SubnetID, vipSubnetID),
		BySubnet:        ptr.Deref(r.from.values.Members.BySubnet, r.from.conf.MemberAddressBySubnet),
		NodeSelector:    r.nodeSelector(),
		Weights:         cmp.Or(ptr.Deref(r.from.values.Members.Weights, ""), r.from.conf.MemberWeights),
		Max:             r.from.maxMembers(local(r.svc)),
		Seed:            string(r.svc.UID),
		NextHops:        int(r.from.conf.RouterNextHops),
	}
	if ptr.Deref(r.from.values.Members.BySubnet, false) && m.SubnetID == "" {
		r.notice(annotation.MemberAddress, "has no effect: neither the Service nor cloud.conf sets "+annotation.MemberSubnetID)
	}
	if m.Mode == annotation.MembersPods {
		if why := r.from.podsForbidden(); why != "" {
			r.refuse(field.Forbidden(annotation.Path(annotation.Members), why))
			if m.Mode = r.from.conf.Members; m.Mode != annotation.MembersPods { // the members that the refused Service keeps
				return m
			}
		}
		m.ofPods()
		for name, given := range map[string]bool{annotation.MemberSubnetID: r.from.values.Members.SubnetID != nil, annotation.MaxMembers: r.from.values.Members.Max != nil} {
			if given {
				r.notice(name, "has no effect: pods are the members")
			}
		}
	}
	return m
}

func (r *reading) nodeSelector() labels.Selector {
	text := ptr.Deref(r.from.values.Members.NodeSelector, r.from.conf.NodeSelector)
	selector, err := config.ParseSelector(text)
	if err != nil {
		r.refuse(field.Invalid(annotation.Path(annotation.NodeSelector), text, fmt.Sprintf("%v; allowed: %s", err, config.SelectorAllowed)))
		return labels.Everything()
	}
	return selector
}
