package bench

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

func TestQueue_RetriesAtRequestedTimeAndLimitsTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testRetries)
}

func testRetries(t *testing.T) {
	q := &queue{workers: 2}
	start := time.Now()
	var mu sync.Mutex
	tries := map[string]int{}
	err := q.each(t.Context(), newServices(3, 1), func(_ context.Context, svc *v1.Service) error {
		mu.Lock()
		defer mu.Unlock()
		tries[svc.Name]++
		switch {
		case svc.Name == "web-1" && tries[svc.Name] == 1:
			return api.NewRetryError("not yet", time.Hour)
		case svc.Name == "web-2":
			return errors.New("never")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "web-2: never") || strings.Contains(err.Error(), "web-1") {
		t.Errorf("got error %v", err)
	}
	if tries["web-0"] != 1 || tries["web-1"] != 2 || tries["web-2"] != mostTries || q.retries.Load() != mostTries {
		t.Errorf("tries %v, retries %d", tries, q.retries.Load())
	}
	if passed := time.Since(start); passed < time.Hour {
		t.Errorf("only %s passed", passed)
	}
}
