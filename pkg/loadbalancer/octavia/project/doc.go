// Package project reads all load balancers and floating IPs of the project at once. That replaces
// several requests for each Service. A Reader has three depths:
//
//   - a Snapshot has the attributes that show whether a load balancer has changed, and its floating
//     IPs: two requests for a thousand load balancers. It serves restarts, drift and garbage;
//   - Lists have load balancers, listeners, health monitors and floating IPs in full: four requests.
//     An Observer reads from them, for takeovers and the verb status;
//   - SettingsOf reads listeners, pools and health monitors of a group of Services, by their tags: three
//     requests, or four. They confirm changes of this process.
package project
