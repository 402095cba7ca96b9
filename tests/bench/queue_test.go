package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/tests/bench/virtual"
)

func TestQueue_RetriesAtRequestedTimeAndLimitsTries(t *testing.T) {
	clock := virtual.New(time.Unix(0, 0))
	defer clock.Close()
	q := &queue{clock: clock, workers: 2}
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
	if passed := clock.Since(time.Unix(0, 0)); passed < time.Hour {
		t.Errorf("only %s passed", passed)
	}
}
