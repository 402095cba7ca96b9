package limiter

import (
	"hash/maphash"
	"io"
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// maxFailures is how many failing requests a class remembers.
const maxFailures = 256

// fingerprint stands for what a request asks for: method, address and body.
type fingerprint uint64

var fingerprintSeed = maphash.MakeSeed()

// fingerprintOf returns the fingerprint of a request; a body that cannot be read twice
// is left out.
func fingerprintOf(req *http.Request) fingerprint {
	var hash maphash.Hash
	hash.SetSeed(fingerprintSeed)
	_, _ = hash.WriteString(req.Method + " " + req.URL.String() + "\n")
	if request.HasBody(req) && req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			_, _ = io.Copy(&hash, body)
			body.Close()
		}
	}
	return fingerprint(hash.Sum64())
}

// failures remembers the last requests that ended in 500: one that does so again and
// again is about its own object and says nothing about the load of the service. It is
// not safe for concurrent use.
type failures struct {
	last []fingerprint
}

// repeated adds the outcome of a request, and reports whether it is one more 500 for it.
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
