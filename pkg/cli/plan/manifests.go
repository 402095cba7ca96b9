package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
)

// fromFile returns the Services of a file after kubectl apply of the file. One that kubectl or the
// API server refuses is returned with the reason.
func (q Query) fromFile(ctx context.Context, client kubernetes.Interface) ([]asked, error) {
	manifests, err := decode(q.File)
	if err != nil {
		return nil, err
	}
	if len(manifests) == 0 {
		return nil, errors.New("the file has no Service")
	}
	server := &server{client: client}
	var services []asked
	at := map[types.NamespacedName]int{}
	for _, manifest := range manifests {
		done, err := q.applied(ctx, server, manifest)
		if err != nil {
			return nil, err
		}
		name := types.NamespacedName{Namespace: done.Namespace, Name: done.Name}
		if i, again := at[name]; again && name.Name != "" {
			services[i] = done // the later manifest was applied to the result of the earlier one
			continue
		}
		at[name] = len(services)
		services = append(services, done)
		if done.invalid == "" {
			server.keep(done.Service)
		}
	}
	return services, nil
}

func (q Query) applied(ctx context.Context, server *server, manifest *unstructured.Unstructured) (asked, error) {
	if manifest.GetNamespace() == "" {
		manifest.SetNamespace(q.Namespace)
	}
	named := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: manifest.GetNamespace(), Name: manifest.GetName()}}
	switch {
	case manifest.GetName() == "":
		named.Name = manifest.GetGenerateName()
		return asked{Service: named, invalid: "kubectl apply refuses a manifest without metadata.name"}, nil
	case q.Enforced && manifest.GetNamespace() != q.Namespace:
		return asked{Service: named, invalid: fmt.Sprintf(
			"kubectl apply refuses the manifest: it is for namespace %s, and --namespace is %s", manifest.GetNamespace(), q.Namespace)}, nil
	}
	live, err := server.read(ctx, named)
	if err != nil && !apierrors.IsNotFound(err) {
		return asked{}, fmt.Errorf("read Service %s/%s: %w", named.Namespace, named.Name, err)
	}
	var done asked
	if err != nil {
		done, err = server.create(ctx, manifest)
	} else {
		done, err = server.patch(live, manifest)
	}
	if err != nil {
		return asked{Service: named, live: live, invalid: err.Error()}, nil //nolint:nilerr // the report shows the error
	}
	return done, nil
}

// decode returns the Services among manifests of any kind, in YAML or JSON, like kubectl.
func decode(file io.Reader) ([]*unstructured.Unstructured, error) {
	var services []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var text json.RawMessage
		err := documents.Decode(&text)
		if errors.Is(err, io.EOF) {
			return services, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the manifests: %w", err)
		}
		if len(text) == 0 || string(text) == "null" { // a document with only comments
			continue
		}
		object, err := runtime.Decode(unstructured.UnstructuredJSONScheme, text)
		if err != nil {
			return nil, fmt.Errorf("read the manifests: %w", err)
		}
		found, err := servicesIn(object)
		if err != nil {
			return nil, fmt.Errorf("read the manifests: %w", err)
		}
		services = append(services, found...)
	}
}

// servicesIn returns the Services in an object. The items of a typed list need no kind, those of a
// List do.
func servicesIn(object runtime.Object) ([]*unstructured.Unstructured, error) {
	var services []*unstructured.Unstructured
	switch object := object.(type) {
	case *unstructured.UnstructuredList:
		for i := range object.Items {
			item := &object.Items[i]
			if item.GetKind() == "" {
				return nil, fmt.Errorf("item %d of a %s has no kind", i, object.GetKind())
			}
			found, err := servicesIn(item)
			if err != nil {
				return nil, err
			}
			services = append(services, found...)
		}
	case *unstructured.Unstructured:
		if object.IsList() && strings.HasSuffix(object.GetKind(), "List") {
			text, err := json.Marshal(object.Object)
			if err != nil {
				return nil, err
			}
			list, err := runtime.Decode(unstructured.UnstructuredJSONScheme, text)
			if err != nil {
				return nil, err
			}
			return servicesIn(list)
		}
		if object.GetKind() == "Service" && object.GetAPIVersion() == "v1" {
			services = append(services, object)
		}
	}
	return services, nil
}
