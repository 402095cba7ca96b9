package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
)

// Gates returns the policy that adds the readiness gate to new pods with its label, and its binding.
// Pods are created without the gate if the policy cannot be evaluated.
func Gates() []runtime.Object {
	gate := fmt.Sprintf("Object.spec.readinessGates{conditionType: %s}", quoted(string(gates.Condition)))
	return []runtime.Object{
		&admissionv1.MutatingAdmissionPolicy{
			TypeMeta: typeOf("MutatingAdmissionPolicy"), ObjectMeta: metav1.ObjectMeta{Name: ReadinessGates},
			Spec: admissionv1.MutatingAdmissionPolicySpec{
				FailurePolicy:      ptr.To(admissionv1.Ignore),
				ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
				MatchConstraints: &admissionv1.MatchResources{
					ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{gates.Label: "true"}},
					ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
					}}},
				},
				MatchConditions: []admissionv1.MatchCondition{{
					Name:       "has-no-gate",
					Expression: fmt.Sprintf("!has(object.spec.readinessGates) || !object.spec.readinessGates.exists(g, g.conditionType == %s)", quoted(string(gates.Condition))),
				}},
				Mutations: []admissionv1.Mutation{{
					PatchType: admissionv1.PatchTypeJSONPatch,
					JSONPatch: &admissionv1.JSONPatch{Expression: fmt.Sprintf("has(object.spec.readinessGates) ? "+
						"[JSONPatch{op: 'add', path: '/spec/readinessGates/-', value: %[1]s}] : "+
						"[JSONPatch{op: 'add', path: '/spec/readinessGates', value: [%[1]s]}]", gate)},
				}},
			},
		},
		&admissionv1.MutatingAdmissionPolicyBinding{
			TypeMeta: typeOf("MutatingAdmissionPolicyBinding"), ObjectMeta: metav1.ObjectMeta{Name: ReadinessGates},
			Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: ReadinessGates},
		},
	}
}
