package limiter

import (
	"hash/maphash"
	"io"
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// maxFailures is the number of failing requests that a class remembers.
const maxFailures = 256

// fingerprint identifies a request by method, address and body.
type fingerprint uint64

var fingerprintSeed = maphash.MakeSeed()

// fingerprintOf returns the fingerprint of a request, without a body that cannot be read twice.
func fingerprintOf(req *http.Request) fingerprint {
	var hash maphash.Hash
	hash.SetSeed(fingerprintSeed)
	_, _ = hash.WriteString(req.Method + " " + req.URL.String() + "\n")
	if rest.HasBody(req) && req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			_, _ = io.Copy(&hash, body)
			body.Close()
		}
	}
	return fingerprint(hash.Sum64())
}

// failures remembers the last requests that were answered 500. A request that fails repeatedly has
// a problem with its own object, and proves nothing about the load of the service. It is not safe
// for concurrent use.
type failures struct {
	last []fingerprint
}

// repeated adds the outcome of a request, and reports whether it is another 500 for the same
// request.
func (f *failures) repeated(content fingerprint, out Outcome) bool {
	at := slices.Index(f.last, content)
	switch failed := out.status() == http.StatusInternalServerError; {
	case failed && at >= 0:
		return true
	case failed:
		f.last = append(f.last, content)
		f.last = f.last[max(0, len(f.last)-maxFailures):]
	case at >= 0 && out.Err == nil:
		f.last = slices.Delete(f.last, at, at+1)
	}
	return false
}
