package manifests_test

import (
	"fmt"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// typedValues are the values that are parts of objects of Kubernetes. Helm drops fields that do not
// exist, so the schema has them.
func typedValues() map[string]reflect.Type {
	return map[string]reflect.Type{
		"affinity":                  reflect.TypeFor[v1.Affinity](),
		"tolerations":               reflect.TypeFor[[]v1.Toleration](),
		"topologySpreadConstraints": reflect.TypeFor[[]v1.TopologySpreadConstraint](),
		"resources":                 reflect.TypeFor[v1.ResourceRequirements](),
		"podSecurityContext":        reflect.TypeFor[v1.PodSecurityContext](),
		"securityContext":           reflect.TypeFor[v1.SecurityContext](),
		"hostAliases":               reflect.TypeFor[[]v1.HostAlias](),
		"extraEnv":                  reflect.TypeFor[[]v1.EnvVar](),
		"extraVolumeMounts":         reflect.TypeFor[[]v1.VolumeMount](),
		"startupProbe":              reflect.TypeFor[v1.Probe](),
		"livenessProbe":             reflect.TypeFor[v1.Probe](),
		"readinessProbe":            reflect.TypeFor[v1.Probe](),
		"rbac.extraRules":           reflect.TypeFor[[]rbacv1.PolicyRule](),
		"metricsReader.subjects":    reflect.TypeFor[[]rbacv1.Subject](),
		"networkPolicy.ingressFrom": reflect.TypeFor[[]networkingv1.NetworkPolicyPeer](),
		"networkPolicy.egress":      reflect.TypeFor[[]networkingv1.NetworkPolicyEgressRule](),
	}
}

// types are the schemas of structs by name, to which others refer.
type types map[string]schema

// of is the schema of values of a type. Null leaves a field out.
func (all types) of(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return schema{"type": []string{"string", "number", "null"}}
	case reflect.TypeFor[intstr.IntOrString]():
		return schema{"type": []string{"string", "integer", "null"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return all.of(t.Elem())
	case reflect.Struct:
		if all[t.Name()] == nil {
			properties := schema{}
			all[t.Name()] = schema{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
			all.fields(t, properties)
		}
		return schema{"$ref": "#/definitions/" + t.Name()}
	case reflect.Map:
		return schema{"type": []string{"object", "null"}, "additionalProperties": all.of(t.Elem())}
	case reflect.Slice:
		return schema{"type": []string{"array", "null"}, "items": all.of(t.Elem())}
	case reflect.String:
		return schema{"type": []string{"string", "null"}}
	case reflect.Bool:
		return schema{"type": []string{"boolean", "null"}}
	case reflect.Int32, reflect.Int64:
		return schema{"type": []string{"integer", "null"}}
	default:
		panic(fmt.Sprintf("no value is a %s", t))
	}
}

// fields adds the fields of a struct, by their names in JSON.
func (all types) fields(t reflect.Type, properties schema) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			all.fields(field.Type, properties)
			continue
		}
		properties[name] = all.of(field.Type)
	}
}
