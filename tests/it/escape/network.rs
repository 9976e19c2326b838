//! The network: by address, by name, by socket; against each mechanism alone.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use proofmark::runtime::sandbox::mechanism::Mechanism::{
    self, BlockedPaths, Capabilities, LandlockFiles, LandlockNetwork, LandlockScope,
    MountNamespace, NetworkNamespace, Seccomp, UserNamespace,
};

use super::{Attempt, BASE, check, host};

/// Each mechanism that closes a network, with the others.
const ALONE: [(&[Mechanism], &[Mechanism]); 3] = [
    (&[NetworkNamespace], &[LandlockNetwork, Seccomp]),
    (&[LandlockNetwork], &[NetworkNamespace, Seccomp]),
    (&[Seccomp], &[NetworkNamespace, LandlockNetwork]),
];

#[test]
fn no_connection_leaves() {
    let Some(host) = host() else { return };
    let four = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = four.local_addr().unwrap().port().to_string();
    let tcp = "socket.create_connection(('127.0.0.1', int(extra)), 5); got()";
    check(
        host,
        &port,
        &ALONE.map(|(stopped_by, without)| Attempt {
            name: "TCP over IPv4",
            script: tcp,
            stopped_by,
            without,
        }),
    );
    let Ok(six) = TcpListener::bind("[::1]:0") else { return };
    let port = six.local_addr().unwrap().port().to_string();
    check(
        host,
        &port,
        &ALONE.map(|(stopped_by, without)| Attempt {
            name: "TCP over IPv6",
            script: "socket.create_connection(('::1', int(extra)), 5); got()",
            stopped_by,
            without,
        }),
    );
}

#[test]
fn no_datagram_leaves() {
    let Some(host) = host() else { return };
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((count, from)) = server.recv_from(&mut buffer) {
            let _gone = server.send_to(&buffer[..count], from);
        }
    });
    // A question as a resolver sends it, to a server that answers.
    let script = "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\n\
         s.sendto(bytes.fromhex('0001010000010000000000000161000001 0001'), \
         ('127.0.0.1', int(extra))); s.recv(512); got()";
    let alone: [(&[Mechanism], &[Mechanism]); 2] =
        [(&[NetworkNamespace], &[Seccomp]), (&[Seccomp], &[NetworkNamespace])];
    check(
        host,
        &port,
        &alone.map(|(stopped_by, without)| Attempt {
            name: "a DNS question",
            script,
            stopped_by,
            without,
        }),
    );
}

#[test]
fn no_socket_outside_is_reached() {
    let Some(host) = host() else { return };
    let name = format!("proofmark-escape-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listening = UnixListener::bind_addr(&address).unwrap();
    let connect = "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + extra); got()";
    let stops: [(&[Mechanism], &[Mechanism]); 2] =
        [(&[NetworkNamespace], &[LandlockScope]), (&[LandlockScope], &[NetworkNamespace])];
    check(
        host,
        &name,
        &stops.map(|(stopped_by, without)| Attempt {
            name: "an abstract socket",
            script: connect,
            stopped_by,
            without,
        }),
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listening = UnixListener::bind(&path).unwrap();
    check(
        host,
        &path.display().to_string(),
        &[Attempt {
            name: "a socket with a name",
            script: "s = socket.socket(socket.AF_UNIX); s.connect(extra); got()",
            stopped_by: &[MountNamespace, BlockedPaths],
            without: &[LandlockFiles],
        }],
    );
}

#[test]
fn no_other_kind_of_socket_is_made() {
    let Some(host) = host() else { return };
    let seccomp: &[Mechanism] = &[Seccomp];
    let attempts = [
        Attempt {
            name: "a netlink socket",
            script: "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); got()",
            stopped_by: seccomp,
            ..BASE
        },
        Attempt {
            name: "a raw socket, by the filter",
            script: "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); got()",
            stopped_by: seccomp,
            without: &[Capabilities],
        },
        Attempt {
            name: "a raw socket, by capabilities",
            script: "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); got()",
            stopped_by: &[Capabilities],
            without: seccomp,
        },
        Attempt {
            name: "a packet socket",
            script: "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); got()",
            stopped_by: seccomp,
            without: &[Capabilities],
        },
        Attempt {
            name: "a packet socket of the machine",
            script: "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); got()",
            stopped_by: &[UserNamespace, Capabilities],
            without: &[NetworkNamespace, Seccomp],
        },
        Attempt {
            name: "calls in a ring",
            script: "call(425, 1, ctypes.create_string_buffer(256)); got()",
            stopped_by: seccomp,
            ..BASE
        },
    ];
    check(host, "", &attempts);
}
