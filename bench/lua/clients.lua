-- Each request from a client of its own, named by a forwarded header; `clients` of them come again and again.
-- Arguments: clients, the path of a read, the body of a create. One request in eight is a create.
local clients, path, body, number

function init(arguments)
  clients, path, body = tonumber(arguments[1]), arguments[2], arguments[3]
  number = os.time() % clients
end

function request()
  number = (number + 1) % clients
  local address = string.format("10.%d.%d.%d", number // 65536 % 256, number // 256 % 256, number % 256)
  if number % 8 == 0 then
    return wrk.format("PATCH", "/db", { ["X-Forwarded-For"] = address, ["Content-Type"] = "application/json" }, body)
  end
  return wrk.format("GET", path, { ["X-Forwarded-For"] = address })
end
