"""Machines that are user-mode Linux. The files of one are in its directory, as machines.py has it."""
import os
import socket
import struct
import subprocess

MEMORY = '384M'


def card(number, device, mac):
    """A network card, as the kernel is told about it."""
    return 'vec%d:transport=tap,ifname=%s,mac=%s,depth=64,gro=0' % (number, device, mac)


def boot(image, directory, console, cards):
    """Starts the machine as a child of the first process: its parent may end before it."""
    subprocess.run(
        ['setsid', '--fork', os.path.join(image, 'linux'), 'mem=' + MEMORY,
         'umid=kernel', 'uml_dir=' + directory,
         'rootfstype=hostfs', 'rootflags=' + os.path.join(image, 'root'), 'ro',
         'init=/usr/local/sbin/first', 'amphora=' + directory,
         'con=null', 'con0=null,fd:1', 'ssl=null', 'quiet',
         'systemd.journald.forward_to_console=1'] + cards,
        stdin=subprocess.DEVNULL, stdout=console, stderr=console, check=True)


def plug(directory, added):
    """Adds a card to a machine that runs, by a command in the format of the kernel's header mconsole.h."""
    text = 'config ' + added
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.settimeout(10)
        s.bind('')  # to any name, for the answer
        s.sendto(struct.pack('=III512s', 0xcafebabe, 2, len(text), text.encode()),
                 os.path.join(directory, 'kernel', 'mconsole'))
        answer = s.recv(1024)
        failed, _, length = struct.unpack_from('=III', answer)
        if failed:
            raise RuntimeError('%s: %s' % (text, answer[12:12 + length].decode()))
