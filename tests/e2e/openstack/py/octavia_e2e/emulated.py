"""Machines whose processor qemu emulates. The files of one are in its directory, as machines.py has it."""
import os
import socket
import subprocess
import tarfile

MEMORY = '512'


def card(number, device, mac):
    """A network card, as qemu is told about it: what it is connected to, and what the machine sees of it."""
    return ('tap,id=n%d,ifname=%s,script=no,downscript=no' % (number, device),
            'virtio-net-pci,netdev=n%d,mac=%s,romfile=,csum=off,gso=off,guest_csum=off,'
            'guest_tso4=off,guest_tso6=off,guest_ufo=off' % (number, mac))


def boot(image, directory, console, cards):
    """Starts the machine as a child of the first process: its parent may end before it."""
    os.mkdir(os.path.join(directory, 'kernel'))
    drive = os.path.join(directory, 'kernel', 'config.tar')
    with tarfile.open(drive, 'w') as tar:
        for name in 'files', 'nics':
            tar.add(os.path.join(directory, name), name)
    args = []
    for netdev, device in cards:
        args += ['-netdev', netdev, '-device', device]
    for disk in os.path.join(image, 'disk'), drive:
        args += ['-drive', 'file=%s,format=raw,if=virtio,readonly=on' % disk]
    subprocess.run(
        ['setsid', '--fork', 'qemu-system-x86_64', '-accel', 'tcg,thread=multi', '-m', MEMORY, '-nodefaults',
         '-no-user-config', '-no-reboot', '-display', 'none', '-serial', 'stdio',
         '-monitor', 'unix:%s,server,nowait' % os.path.join(directory, 'kernel', 'monitor'),
         '-pidfile', os.path.join(directory, 'kernel', 'pid'),
         '-kernel', os.path.join(image, 'vmlinuz'), '-initrd', os.path.join(image, 'initrd.gz'),
         '-append', 'console=ttyS0 quiet net.ifnames=0 mitigations=off systemd.getty_auto=no systemd.journald.forward_to_console=1'] + args,
        stdin=subprocess.DEVNULL, stdout=console, stderr=console, check=True)


def plug(directory, added):
    """Adds a card to a machine that runs, by commands of qemu's monitor."""
    netdev, device = added
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(os.path.join(directory, 'kernel', 'monitor'))
        _answer(s)
        for text in 'netdev_add ' + netdev, 'device_add ' + device:
            s.sendall(text.encode() + b'\n')
            answer = _answer(s)
            if 'Error' in answer:
                raise RuntimeError('%s: %s' % (text, answer))


def _answer(s):
    """Reads to the next prompt."""
    text = ''
    while not text.endswith('(qemu) '):
        received = s.recv(4096)
        if not received:
            raise RuntimeError('qemu has ended: ' + text)
        text += received.decode()
    return text
