package dryrun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
)

// maxBody is the maximum size of a withheld write; the API server accepts 3 MiB.
const maxBody = 4 << 20

// Write is a write to the API server that was not sent.
type Write struct {
	// Verb is create, update, patch, delete or deletecollection.
	Verb string
	// Resource includes its subresource: nodes/status.
	Resource string
	// Namespace and Name are of the object.
	Namespace, Name string
	// Patch is the content of a patch.
	Patch string
}

// Kubernetes guards clients of the API server: they can send reads, reviews of permissions, which
// store nothing, and writes to one Lease.
//
// It answers every other write as if it had been executed, so that the controllers of
// k8s.io/cloud-provider neither fail nor retry:
//
//	create, update   with the object that was sent
//	delete           with success
//	patch            with the current object, which is read instead
//	patch (event)    with an event of its name: a client that may not write events may be unable to read them
//
// The API server's own dry run (dryRun=All) would find more errors, but requires the right to
// write.
type Kubernetes struct {
	// Lease is the writable one.
	Lease types.NamespacedName
	// Withheld is called with every write that is not sent; it must not block.
	Withheld func(Write)
}

// Wrap returns a RoundTripper that guards another one.
func (k *Kubernetes) Wrap(next http.RoundTripper) http.RoundTripper {
	return &guarded{Kubernetes: k, next: next, requests: apirequest.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}}
}

type guarded struct {
	*Kubernetes

	next     http.RoundTripper
	requests apirequest.RequestInfoFactory
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return g.next.RoundTrip(req)
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	info, err := g.requests.NewRequestInfo(&http.Request{
		Method: req.Method, URL: &url.URL{Path: apiPath(req.URL.Path), RawQuery: req.URL.RawQuery},
	})
	if err != nil {
		return nil, err
	}
	if isReview(info) || g.isLease(info, body) {
		sent := req.Clone(req.Context())
		sent.Body = io.NopCloser(bytes.NewReader(body))
		return g.next.RoundTrip(sent)
	}
	g.report(info, req, body)
	switch {
	case !info.IsResourceRequest, info.Verb == "create" && info.Subresource != "":
		return answerError(req, apierrors.NewForbidden(metav1.SchemeGroupVersion.WithResource(info.Resource).GroupResource(), info.Name, errors.New("a dry run writes nothing")))
	case info.Verb == "patch" && info.Resource == "events":
		return answer(req, http.StatusOK, runtime.ContentTypeJSON, eventNamed(info)), nil
	case info.Verb == "patch":
		return g.readInstead(req, info)
	case info.Verb == "create":
		return answer(req, http.StatusCreated, req.Header.Get("Content-Type"), body), nil
	case info.Verb == "update":
		return answer(req, http.StatusOK, req.Header.Get("Content-Type"), body), nil
	}
	return answerStatus(req, &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusOK})
}

// apiPath returns the API server's part of a path: a proxy for several API servers adds a prefix.
func apiPath(path string) string {
	for _, root := range []string{"/apis/", "/api/"} {
		if i := strings.Index(path, root); i >= 0 {
			return path[i:]
		}
	}
	return path
}

// bodyOf reads and closes the body of a request.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errors.New("a write to the API server is larger than its limit")
	}
	return body, err
}

// isReview reports whether a request is a review of a user or of permissions.
func isReview(info *apirequest.RequestInfo) bool {
	return info.Verb == "create" && info.Subresource == "" && strings.HasSuffix(info.Resource, "reviews") &&
		(info.APIGroup == "authentication.k8s.io" || info.APIGroup == "authorization.k8s.io")
}

// isLease reports whether a request writes the writable Lease.
func (k *Kubernetes) isLease(info *apirequest.RequestInfo, body []byte) bool {
	if info.APIGroup != coordinationv1.GroupName || info.Resource != "leases" || info.Subresource != "" || info.Namespace != k.Lease.Namespace {
		return false
	}
	switch info.Verb {
	case "update", "patch":
		return info.Name == k.Lease.Name
	case "create":
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		lease, is := object.(*coordinationv1.Lease)
		return err == nil && is && lease.Name == k.Lease.Name && lease.GenerateName == ""
	}
	return false
}

// report reports a withheld write.
func (g *guarded) report(info *apirequest.RequestInfo, req *http.Request, body []byte) {
	if g.Withheld == nil {
		return
	}
	write := Write{Verb: info.Verb, Resource: info.Resource, Namespace: info.Namespace, Name: info.Name}
	if !info.IsResourceRequest {
		write.Verb, write.Resource = strings.ToLower(req.Method), "other"
	}
	if info.Subresource != "" {
		write.Resource += "/" + info.Subresource
	}
	switch info.Verb {
	case "patch":
		write.Patch = string(body)
	case "create":
		if object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
			if meta, is := object.(metav1.Object); is {
				write.Name = meta.GetName()
			}
		}
	}
	g.Withheld(write)
}

// eventNamed returns an event as JSON. Clients only check that it is one.
func eventNamed(info *apirequest.RequestInfo) []byte {
	version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	return fmt.Appendf(nil, `{"kind":"Event","apiVersion":%q,"metadata":{"namespace":%q,"name":%q}}`, version, info.Namespace, info.Name)
}

// WrappedRoundTripper makes requests cancelable (net.RoundTripperWrapper).
func (g *guarded) WrappedRoundTripper() http.RoundTripper { return g.next }

// readInstead answers a patch with the current object.
func (g *guarded) readInstead(req *http.Request, info *apirequest.RequestInfo) (*http.Response, error) {
	read := req.Clone(req.Context())
	read.Method, read.Body, read.GetBody, read.ContentLength = http.MethodGet, nil, nil, 0
	read.Header.Del("Content-Type")
	read.URL.RawQuery = ""
	if info.Subresource != "" {
		read.URL.Path = strings.TrimSuffix(read.URL.Path, "/"+info.Subresource)
		read.URL.RawPath = ""
	}
	return g.next.RoundTrip(read)
}

// answerError answers with the status of an error.
func answerError(req *http.Request, err *apierrors.StatusError) (*http.Response, error) {
	return answerStatus(req, &err.ErrStatus)
}

func answerStatus(req *http.Request, status *metav1.Status) (*http.Response, error) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := runtime.Encode(scheme.Codecs.LegacyCodec(metav1.Unversioned), status)
	if err != nil {
		return nil, err
	}
	return answer(req, int(status.Code), runtime.ContentTypeJSON, body), nil
}

func answer(req *http.Request, status int, contentType string, body []byte) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {contentType}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: req,
	}
}
