"""nginx `limit_req` and an HAProxy stick table: 100 requests a minute per address, refused with 429."""

from .base import Peer, version_of

# Logging each refusal is nginx's default; it is off, as it is in Zonai and HAProxy here.
NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log /dev/null crit;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  limit_req_zone $binary_remote_addr zone=clients:10m rate=100r/m;
  server {{
    listen 127.0.0.1:{port};
    location / {{ limit_req zone=clients burst=99 nodelay; limit_req_status 429; empty_gif; }}
  }}
}}
"""

HAPROXY = """
global
  nbthread 1
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
frontend clients
  bind 127.0.0.1:{port}
  stick-table type ip size 100k expire 2m store http_req_rate(60s)
  http-request track-sc0 src
  http-request deny deny_status 429 hdr retry-after 60 if {{ sc_http_req_rate(0) gt 100 }}
  http-request return status 200 content-type application/json string "{{}}"
"""


class Nginx(Peer):
    def command(self):
        self.version = version_of("nginx", "-v")
        configuration = self.folder / "nginx.conf"
        configuration.write_text(NGINX.format(folder=self.folder, port=self.port))
        return ["nginx", "-p", self.folder, "-c", configuration]


class HAProxy(Peer):
    def command(self):
        self.version = version_of("haproxy", "-v")
        configuration = self.folder / "haproxy.cfg"
        configuration.write_text(HAPROXY.format(port=self.port))
        return ["haproxy", "-f", configuration]
