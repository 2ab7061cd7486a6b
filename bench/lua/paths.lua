-- GETs the paths of a file, one a line, in turn; each request is prepared once, so that wrk has little to do.
local requests, at = {}, 0

function init(args)
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", path)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
