"""The harness without a server: what wrk prints, half status lines, tables and plots."""

import sys
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness import clients, load, report, rounds, svg  # noqa: E402
from scenarios import ALL  # noqa: E402

PRINTED = """Running 2s test @ http://127.0.0.1:1/
  20000 requests in 2.00s, 3.00MB read
  Non-2xx or 3xx responses: 19900
"""


class Load(unittest.TestCase):
    def test_cost_is_processor_time_over_answers(self):
        measured = load.parse(PRINTED, cpu_seconds=0.2)
        self.assertEqual((measured.requests, measured.refused, measured.seconds), (20_000, 19_900, 2.0))
        self.assertAlmostEqual(measured.figure, 10.0)

    def test_socket_errors_are_told(self):
        measured = load.parse(PRINTED + "  Socket errors: connect 0, read 3, write 0, timeout 0\n", 1.0)
        self.assertIn("read 3", measured.errors)

    def test_output_without_a_count_is_an_error(self):
        with self.assertRaises(RuntimeError):
            load.parse("unable to connect", 0.0)


class Clients(unittest.TestCase):
    def test_half_a_status_line_is_kept(self):
        for cut in range(1, 9):
            self.assertEqual(clients.tail(b"...\r\n" + b"HTTP/1.1 "[:cut]), b"HTTP/1.1 "[:cut])
        self.assertEqual(clients.tail(b"a body with an H in it"), b"")

    def test_each_client_has_its_address(self):
        self.assertEqual(len({clients.request("/", number) for number in range(70_000)}), 70_000)


class Report(unittest.TestCase):
    def result(self):
        result = rounds.Result("a", "A", "shows", "not", "floor", "µs")
        result.figures = {"zonai": [2.0, 4.0, 3.0], "floor": [1.0, 2.0, 3.0]}
        result.versions = {"zonai": "1", "floor": "2"}
        result.ratios = {"zonai": [2.0, 2.0, 1.0], "floor": [1.0, 1.0, 1.0]}
        return result

    def test_a_row_has_median_ratio_and_spread(self):
        self.assertIn("| zonai | 1 | 3.0 | 2.0–4.0 | 2.00 | 1.00–2.00 |", report.table(self.result()))

    def test_a_plot_is_well_formed_with_a_bar_for_each(self):
        drawn = ElementTree.fromstring(svg.bars("A & B", "µs", report.rows(self.result()), "zonai"))
        bars = [shape for shape in drawn.iter() if shape.tag.endswith("rect")]
        self.assertEqual(len(bars), 3)


class Scenarios(unittest.TestCase):
    def test_each_says_what_it_shows_and_what_not(self):
        for name, scenario in ALL.items():
            self.assertEqual(name, scenario.NAME)
            self.assertTrue(scenario.SHOWS and scenario.SHOWS_NOT and scenario.TITLE)
            self.assertTrue("zonai" in scenario.PEERS and scenario.BASELINE in scenario.PEERS)


if __name__ == "__main__":
    unittest.main()
