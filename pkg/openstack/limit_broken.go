package openstack

import (
	"hash/maphash"
	"io"
	"net/http"
	"slices"
)

// mostBroken is how many broken requests a lane remembers.
const mostBroken = 256

// content stands for what a request asks for: method, address and body.
type content uint64

var contentSeed = maphash.MakeSeed()

// contentOf gives the content of a request; that of a body which cannot be read
// twice is as good as none.
func contentOf(req *http.Request) content {
	var hash maphash.Hash
	hash.SetSeed(contentSeed)
	_, _ = hash.WriteString(req.Method + " " + req.URL.String() + "\n")
	if hasBody(req) && req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			_, _ = io.Copy(&hash, body)
			body.Close()
		}
	}
	return content(hash.Sum64())
}

// broken remembers requests that ended in 500, the last ones: one that does so again
// and again is about its own object and says nothing about the load of the service.
// It is not safe for concurrent use.
type broken struct {
	last []content
}

// again notes what came of a request, and tells that it is one more 500 for it.
func (b *broken) again(asked content, out outcome) bool {
	at := slices.Index(b.last, asked)
	switch failed := out.status() == http.StatusInternalServerError; {
	case failed && at >= 0:
		return true
	case failed:
		b.last = append(b.last, asked)
		b.last = b.last[max(0, len(b.last)-mostBroken):]
	case at >= 0 && out.err == nil:
		b.last = slices.Delete(b.last, at, at+1)
	}
	return false
}
