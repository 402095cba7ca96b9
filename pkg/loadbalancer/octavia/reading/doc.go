// Package reading finds the load balancers of a Service, and reads their contents once no operation on
// them is pending. Its methods return async.ErrWaiting while the round waits, and continue with the
// progress (Search, Progress) that the caller keeps.
//
// If a driver changes members one by one, the load balancer, and perhaps all of its members, are
// ACTIVE while most of a batch is still to come. The run that sent the batch knows the result to
// wait for. A later reader does not, for example after a batch without an answer, or after a
// restart. The driver reports each member, and each report moves updated_at. A reader then waits until
// updated_at has not moved for five ChildIntervals, for a minute (ChildTimeout) or, if that is longer, five seconds for
// each member. Members with changing health move updated_at as well.
package reading
