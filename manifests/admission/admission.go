// Package admission generates policies for the API server from the table of annotations: they
// reject Services that the controller would refuse, and warn like the controller. `make generate`
// writes policy.yaml.
package admission

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// The names of the policies, and of their bindings.
const (
	// Refuse denies Services that the controller refuses, Warn warns like the controller.
	Refuse = "openstack-load-balancer-refuse"
	Warn   = "openstack-load-balancer-warn"
	// DenyUnknown denies a new Service with an unknown annotation of our prefixes.
	DenyUnknown = "openstack-load-balancer-deny-unknown"
	// ReadinessGates adds readiness gates to pods.
	ReadinessGates = "openstack-load-balancer-readiness-gates"
)

// Objects returns the policies and their bindings.
func Objects() []runtime.Object {
	return []runtime.Object{
		policy(Refuse, refusals()), binding(Refuse, admissionv1.Deny),
		policy(Warn, warnings(), aliases()), binding(Warn, admissionv1.Warn, admissionv1.Audit),
	}
}

// Optional returns the policy for clusters in which a misspelled annotation is an error, and its
// binding.
func Optional() []runtime.Object {
	return []runtime.Object{
		policy(DenyUnknown, []admissionv1.Validation{ofNew(unknown(names()))}, aliases()), binding(DenyUnknown, admissionv1.Deny),
	}
}

// YAML returns objects as a manifest for a version of Kubernetes and later ones.
func YAML(objects []runtime.Object, version string) (string, error) {
	texts := []string{"# Written by make generate. Kubernetes " + version + " or later.\n"}
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return "", err
		}
		if i > 0 {
			texts = append(texts, "---\n")
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, ""), nil
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: kind}
}

func binding(name string, actions ...admissionv1.ValidationAction) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: typeOf("ValidatingAdmissionPolicyBinding"), ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: actions},
	}
}

// policy returns a policy for Services that are ours. Requests pass if it cannot be evaluated: the
// controller checks in any case. More are variables that only some policies need.
func policy(name string, validations []admissionv1.Validation, more ...admissionv1.Variable) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta: typeOf("ValidatingAdmissionPolicy"), ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Ignore),
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{
				Name:       "is-ours",
				Expression: "object.spec.type == 'LoadBalancer' && !has(object.spec.loadBalancerClass) && !has(object.metadata.deletionTimestamp)",
			}},
			Variables: append([]admissionv1.Variable{
				{Name: "now", Expression: annotationsOf("object")},
				// A Service that was not ours is checked completely, like a new one.
				{Name: "known", Expression: "oldObject != null && oldObject.spec.type == 'LoadBalancer' && !has(oldObject.spec.loadBalancerClass)"},
				{Name: "before", Expression: "variables.known ? " + annotationsOf("oldObject") + " : {}"},
				// Unchanged annotations are not checked: users can change other parts of a Service
				// that is refused, or comes from cloud-provider-openstack.
				{Name: "changed", Expression: "variables.now.filter(k, !(k in variables.before) || variables.before[k] != variables.now[k])"},
				{Name: "portsChanged", Expression: "!variables.known || object.spec.ports != oldObject.spec.ports"},
			}, more...),
			Validations: validations,
		},
	}
}

func annotationsOf(object string) string {
	return fmt.Sprintf("(has(%[1]s.metadata.annotations) ? %[1]s.metadata.annotations : {})", object)
}

// judged returns the annotations of users.
func judged() []annotation.Annotation {
	return slices.DeleteFunc(slices.Clone(annotation.Table()), func(a annotation.Annotation) bool { return a.Change == annotation.Written })
}

// refusals are the controller's refusals: invalid values and, of a new Service, those that
// cloud-provider-openstack passes on to OpenStack, which refuses them.
func refusals() []admissionv1.Validation {
	var all []admissionv1.Validation
	for _, a := range judged() {
		switch {
		case !a.Lenient():
			all = append(all, validation(a.Name, fmt.Sprintf("size(bytes(%s)) <= %d && (%s)", value(a.Name), a.Most(), rule(a, a.Rule)), annotation.Path(a.Name).String()+": allowed: "+a.Allowed))
		case a.Handed != "":
			all = append(all, validation(a.Name, fmt.Sprintf("variables.known || %s in variables.now || size(bytes(%s)) <= %d && (%s)",
				quoted(annotation.LoadBalancerID), value(a.Name), a.Most(), rule(a, fmt.Sprintf("(%s) || !(%s)", a.Rule, a.Handed))),
				annotation.Path(a.Name).String()+": allowed: "+a.Allowed+"; no load balancer is made with another value"))
		}
		if a.Lenient() { // a too long value is never accepted
			all = append(all, validation(a.Name, fmt.Sprintf("size(bytes(%s)) <= %d", value(a.Name), a.Most()), fmt.Sprintf("%s: allowed: %d bytes at most", annotation.Path(a.Name), a.Most())))
		}
	}
	for _, a := range judged() {
		if a.PerPort {
			all = append(all, perPort(a))
		}
	}
	return append(all, combinations()...)
}

// perPort checks the values of an annotation for single ports.
func perPort(a annotation.Annotation) admissionv1.Validation {
	return admissionv1.Validation{
		Expression: fmt.Sprintf("variables.changed.filter(k, k.startsWith(%s)).all(k, size(bytes(variables.now[k])) <= %d && (variables.now[k].trim() == '' || [variables.now[k].trim()].all(v, %s)))",
			quoted(a.Name+"."), a.Most(), a.Rule),
		Message: annotation.Path(a.Name+".PORT").String() + ": allowed: " + a.Allowed,
	}
}

// isPerPort is true for a name k of an annotation for one port.
func isPerPort() string {
	var all []string
	for _, name := range annotation.PerPort() {
		all = append(all, quoted(name+"."))
	}
	return "[" + strings.Join(all, ", ") + "].exists(p, k.startsWith(p))"
}

// warnings are the controller's warnings: ignored values, and unknown names.
func warnings() []admissionv1.Validation {
	var all []admissionv1.Validation
	for _, a := range judged() {
		if a.Lenient() {
			all = append(all, validation(a.Name, rule(a, a.Rule), annotation.Path(a.Name).String()+": without effect, allowed: "+a.Allowed))
		}
	}
	return append(all, unknown(names()), foreign())
}

// names returns the names of all annotations, as a list of CEL.
func names() string {
	var all []string
	for _, a := range annotation.Table() {
		all = append(all, quoted(a.Name))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// ofNew returns a validation for new Services only.
func ofNew(v admissionv1.Validation) admissionv1.Validation {
	v.Expression = "variables.known || " + v.Expression
	return v
}

func value(name string) string { return "variables.now[" + quoted(name) + "]" }

// validation checks an annotation if it has changed.
func validation(name, expression, message string) admissionv1.Validation {
	return admissionv1.Validation{Expression: fmt.Sprintf("!(%s in variables.changed) || %s", quoted(name), expression), Message: message}
}

// rule returns the rule of an annotation for its value; an empty one is not given.
func rule(a annotation.Annotation, expression string) string {
	text := value(a.Name)
	if !a.Exact() {
		text += ".trim()"
	}
	checked := fmt.Sprintf("[%s].all(v, %s)", text, expression)
	if a.EmptyIsNone {
		return checked
	}
	return fmt.Sprintf("%s.trim() == '' || %s", value(a.Name), checked)
}

// quoted returns a text as a literal of CEL.
func quoted(text string) string { return "'" + text + "'" }
