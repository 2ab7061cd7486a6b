-- GETs one path, each time with another value of a header. Argument: the path.
local requests, at = {}, 0

function init(args)
  for number = 1, 1000 do
    requests[number] = wrk.format("GET", args[1], { ["X-Number"] = tostring(number) })
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
