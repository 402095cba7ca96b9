package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// previousController is the controller to go back to, the value of --for.
const previousController = "cloud-provider-openstack"

// Finding is a feature that cloud-provider-openstack does not have, or handles differently.
type Finding struct {
	// Subject is an annotation, a field, a key of cloud.conf or a load balancer.
	Subject string `json:"subject"`
	// Risk is set if it harms traffic or the load balancer.
	Risk bool `json:"risk"`
	// Text is the behavior of cloud-provider-openstack, Do the remedy, "" for none.
	Text string `json:"text"`
	Do   string `json:"do,omitempty"`
}

// ServiceFindings are those about a Service.
type ServiceFindings struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Findings  []Finding `json:"findings"`
	// Error is the reason for incomplete findings, "" if they are complete.
	Error string `json:"error,omitempty"`
}

// GoingBack is the report on a return to cloud-provider-openstack: the features in use that it does
// not have or handles differently, and the steps before it serves the cluster again.
type GoingBack struct {
	// Configuration is about cloud.conf.
	Configuration []Finding `json:"configuration"`
	// Services are all, in the given order.
	Services []ServiceFindings `json:"services"`
	// LoadBalancers are those with tags to change.
	LoadBalancers []Finding `json:"loadBalancers"`
}

// GoingBackInput is the input of a GoingBack.
type GoingBackInput struct {
	ClusterName string
	// Inspection is cloud.conf. It has a Config.
	Inspection *config.Inspection
	// Services are those of the cluster, Status their statuses in the same order.
	Services []*v1.Service
	Status   []status.Service
}

// GoBack returns the report. It reads nothing. The error is one of the configuration.
func GoBack(in GoingBackInput) (*GoingBack, error) {
	parser, err := settings.NewParser(in.Inspection.Config)
	if err != nil {
		return nil, err
	}
	report := &GoingBack{Configuration: ofConfiguration(in.Inspection), Services: []ServiceFindings{}, LoadBalancers: ofTags(in)}
	for i, svc := range in.Services {
		asked, _, _ := parser.Parse(svc)
		one := ServiceFindings{Namespace: svc.Namespace, Name: svc.Name}
		have := in.Status[i]
		one.Findings = service{in.Inspection.Config, svc, asked, have.LoadBalancer, in.ClusterName}.findings()
		if have.State == status.Unknown {
			one.Error = have.Problems[0].Text
		}
		report.Services = append(report.Services, one)
	}
	return report, nil
}

// ExitCode implements cli.Report. It is ExitUnknown if the findings of a Service are incomplete, and
// ExitChanges if there is something to do.
func (r *GoingBack) ExitCode() int {
	if slices.ContainsFunc(r.Services, func(s ServiceFindings) bool { return s.Error != "" }) {
		return ExitUnknown
	}
	all := slices.Concat(r.Configuration, r.LoadBalancers)
	for _, s := range r.Services {
		all = append(all, s.Findings...)
	}
	if slices.ContainsFunc(all, func(f Finding) bool { return f.Risk || f.Do != "" }) {
		return ExitChanges
	}
	return ExitNothing
}

// Kind implements cli.Report.
func (r *GoingBack) Kind() string { return "GoingBack" }

// WriteText writes the report for people: cloud.conf, each Service, the tags of load balancers, and
// the sums.
func (r *GoingBack) WriteText(out *screen.Screen) error {
	section := func(title string, findings []Finding, problem string) {
		if len(findings) == 0 && problem == "" {
			return
		}
		out.Line(screen.Cell{Text: title, Color: screen.Bold})
		out.Table(2, rows(findings, problem))
	}
	section("cloud.conf", r.Configuration, "")
	concerned := 0
	for _, s := range r.Services {
		section(s.Namespace+"/"+s.Name, s.Findings, s.Error)
		if len(s.Findings) > 0 {
			concerned++
		}
	}
	section("Tags of load balancers", r.LoadBalancers, "")
	out.Line(screen.Text(fmt.Sprintf("%s; with features that cloud-provider-openstack does not have or handles differently: %d; load balancers that need other tags: %d. Nothing was changed.",
		count(len(r.Services), "Service"), concerned, len(r.LoadBalancers))))
	return out.Err()
}

// rows are the lines of findings: "!" is a risk, "i" another one, "?" an unknown.
func rows(findings []Finding, problem string) (all [][]screen.Cell) {
	for _, f := range findings {
		sign, color := "i", screen.Dim
		if f.Risk {
			sign, color = "!", screen.Red
		}
		text := f.Subject + ": " + f.Text
		if f.Do != "" {
			text += "; before you go back: " + f.Do
		}
		all = append(all, []screen.Cell{{Text: sign, Color: color}, screen.Text(text)})
	}
	if problem != "" {
		all = append(all, []screen.Cell{{Text: "?", Color: screen.Red}, screen.Text("not known: " + problem)})
	}
	return all
}

// ofTags returns the load balancers that do not have exactly the tags of the Services on them.
// cloud-provider-openstack counts the Services of a load balancer by these.
func ofTags(in GoingBackInput) []Finding {
	found := []Finding{}
	users := map[string][]string{}
	first := map[string]*status.LoadBalancer{}
	var order []string
	for i, svc := range in.Services {
		lb := in.Status[i].LoadBalancer
		if lb == nil {
			continue
		}
		if first[lb.ID] == nil {
			first[lb.ID] = lb
			order = append(order, lb.ID)
		}
		if len(lb.Listeners) > 0 {
			users[lb.ID] = append(users[lb.ID], tagOf(in.ClusterName, svc.Namespace+"/"+svc.Name))
		}
		for _, other := range lb.SharedWith {
			users[lb.ID] = append(users[lb.ID], tagOf(in.ClusterName, other))
		}
	}
	for _, id := range order {
		slices.Sort(users[id])
		missing, stale := compare(slices.Compact(users[id]), first[id].Tags)
		var commands []string
		if len(missing) > 0 {
			commands = append(commands, "openstack loadbalancer set"+options(missing)+" "+id)
		}
		if len(stale) > 0 {
			commands = append(commands, "openstack loadbalancer unset"+options(stale)+" "+id)
		}
		if len(commands) > 0 {
			found = append(found, Finding{
				Subject: "load balancer " + id, Risk: true, Do: strings.Join(commands, "; "),
				Text: "it deletes a load balancer with its owner, including the listeners of all others, unless the tags name exactly the Services on it",
			})
		}
	}
	return found
}

// tagPrefix is the prefix of cloud-provider-openstack's tag on a load balancer for each Service.
const tagPrefix = "kube_service_"

// tagOf returns the tag of a Service, "namespace/name".
func tagOf(cluster, service string) string {
	namespace, name, _ := strings.Cut(service, "/")
	const most = 255
	tag := tagPrefix + cluster + "_" + namespace + "_" + name
	return tag[:min(len(tag), most)]
}

// compare returns the missing tags, and those of other Services.
func compare(wanted, there []string) (missing, stale []string) {
	for _, tag := range wanted {
		if !slices.Contains(there, tag) {
			missing = append(missing, tag)
		}
	}
	for _, tag := range there {
		if strings.HasPrefix(tag, tagPrefix) && !slices.Contains(wanted, tag) {
			stale = append(stale, tag)
		}
	}
	return missing, stale
}

func options(tags []string) (text string) {
	for _, tag := range tags {
		text += " --tag " + tag
	}
	return text
}

// goBack reads cloud.conf, the Services and their load balancers, and reports the differences from
// cloud-provider-openstack. It only reads.
func (f *flags) goBack(ctx context.Context, p cli.Program) (*GoingBack, error) {
	namespace, err := f.kubernetes.Namespace()
	if err != nil {
		return nil, err
	}
	client, err := f.kubernetes.ReadOnlyClient()
	if err != nil {
		return nil, err
	}
	inspection := config.Inspect(f.cloudConfig, p.Env)
	if inspection.Config == nil {
		return nil, errors.Join(inspection.Problems...)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	listed, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	reader, end, err := status.Connect(ctx, p, status.Connection{
		CloudConfig: f.cloudConfig, ClusterName: f.clusterName, Client: client, Timeout: f.timeout,
	})
	if err != nil {
		return nil, err
	}
	defer end()
	have, err := reader.Read(ctx, status.Query{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	inspection.Config = reader.Config()
	return GoBack(paired(GoingBackInput{ClusterName: f.clusterName, Inspection: inspection}, listed.Items, have.Services))
}

// paired adds the Services with a known status to the input.
func paired(in GoingBackInput, services []v1.Service, have []status.Service) GoingBackInput {
	named := make(map[string]*v1.Service, len(services))
	for i := range services {
		named[services[i].Namespace+"/"+services[i].Name] = &services[i]
	}
	for _, read := range have {
		if svc := named[read.Namespace+"/"+read.Name]; svc != nil { // unless it was created since
			in.Services, in.Status = append(in.Services, svc), append(in.Status, read)
		}
	}
	return in
}
