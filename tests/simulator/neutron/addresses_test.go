package neutron

import (
	"net/netip"
	"slices"
	"testing"
)

func newTestPool(t *testing.T, cidr string, ranges ...AddressRange) *addressPool {
	t.Helper()
	pool, err := newAddressPool(cidr, "", ranges)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// drain allocates until the pool has nothing left.
func drain(pool *addressPool) []string {
	var all []string
	for {
		address, ok := pool.allocate()
		if !ok {
			return all
		}
		all = append(all, address.String())
	}
}

func TestAddressPool_UsesUpAllRangesOnce(t *testing.T) {
	t.Parallel()
	pool := newTestPool(t, "10.0.0.0/24", AddressRange{"10.0.0.10", "10.0.0.11"}, AddressRange{"10.0.0.20", "10.0.0.20"})
	if got, want := drain(pool), []string{"10.0.0.10", "10.0.0.11", "10.0.0.20"}; !slices.Equal(got, want) {
		t.Errorf("allocated %v, want %v", got, want)
	}
}

func TestAddressPool_ReusesReleasedAddressLast(t *testing.T) {
	t.Parallel()
	pool := newTestPool(t, "10.0.0.0/24", AddressRange{"10.0.0.10", "10.0.0.13"})
	first, _ := pool.allocate()
	pool.release(first.String())
	if got, want := drain(pool), []string{"10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.10"}; !slices.Equal(got, want) {
		t.Errorf("allocated %v, want %v", got, want)
	}
}

func TestAddressPool_DoesNotAllocateChosenAddress(t *testing.T) {
	t.Parallel()
	pool := newTestPool(t, "10.0.0.0/24", AddressRange{"10.0.0.10", "10.0.0.12"})
	if !pool.take(netip.MustParseAddr("10.0.0.11")) || pool.take(netip.MustParseAddr("10.0.0.11")) {
		t.Error("an address was not taken exactly once")
	}
	if !pool.take(netip.MustParseAddr("10.0.0.99")) {
		t.Error("an address of the subnet outside of its pools could not be taken")
	}
	if got, want := drain(pool), []string{"10.0.0.10", "10.0.0.12"}; !slices.Equal(got, want) {
		t.Errorf("allocated %v, want %v", got, want)
	}
}

func TestAddressPool_HasNoAddressWithoutRanges(t *testing.T) {
	t.Parallel()
	pool, err := newAddressPool("10.0.0.0/24", "", []AddressRange{})
	if err != nil {
		t.Fatal(err)
	}
	if address, ok := pool.allocate(); ok {
		t.Errorf("allocated %s", address)
	}
}

func TestAddressPool_LeavesOutGateway(t *testing.T) {
	t.Parallel()
	for gateway, want := range map[string][]AddressRange{
		"10.0.0.1":  {{"10.0.0.2", "10.0.0.6"}},
		"10.0.0.6":  {{"10.0.0.1", "10.0.0.5"}},
		"10.0.0.3":  {{"10.0.0.1", "10.0.0.2"}, {"10.0.0.4", "10.0.0.6"}},
		"192.0.2.1": {{"10.0.0.1", "10.0.0.6"}},
		"":          {{"10.0.0.1", "10.0.0.6"}},
	} {
		pool, err := newAddressPool("10.0.0.0/29", gateway, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := pool.ranges(); !slices.Equal(got, want) {
			t.Errorf("with gateway %q the pools are %v, want %v", gateway, got, want)
		}
	}
}
