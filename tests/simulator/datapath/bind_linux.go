package datapath

import "syscall"

// ipBindAddressNoPort is IP_BIND_ADDRESS_NO_PORT of Linux, which package syscall lacks.
const ipBindAddressNoPort = 24

// bindWithoutPort leaves the choice of the source port to connect. Otherwise bind takes one
// of 28,000 for the source address alone, whatever the target, and a busy VIP runs out.
func bindWithoutPort(_, _ string, raw syscall.RawConn) error {
	var failure error
	err := raw.Control(func(descriptor uintptr) {
		failure = syscall.SetsockoptInt(int(descriptor), syscall.IPPROTO_IP, ipBindAddressNoPort, 1)
	})
	if err != nil {
		return err
	}
	return failure
}
